import { expect, test } from "vitest";
import { runCommand } from "../support/tools/run-command.ts";

test("a command with --help → what it does, exit 0; with an unknown option → one line, exit 1, and nothing is done", async () => {
  const [helped, refused] = await Promise.all(
    ["--help", "--helf"].map((option) => runCommand("tools/schema.ts", [option]).ended),
  );
  expect(helped).toMatchObject({ code: 0, error: "", said: expect.stringMatching(/^npm run schema/) });
  expect(refused).toMatchObject({ code: 1, output: "Unknown option '--helf': --help lists the options.\n" });
});

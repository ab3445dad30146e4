import { expect, test } from "vitest";
import { runCommand } from "../support/tools/run-command.ts";
import { BODY, deliver, OTHER_SECRET, SECRET, status } from "./receiver-fixture.ts";

const start = (args: string[], environment: Record<string, string> = {}) =>
  runCommand("tools/receiver.ts", args, environment);

test("no secret → how to get one, with the port asked for; exit 1", async () => {
  const { code, error } = await start(["--port", "54391"]).ended;
  expect(code).toBe(1);
  expect(error).toContain(`-d '{"url":"http://127.0.0.1:54391/"}'`);
  expect(error).toContain("npm run receiver -- --port 54391");
});

test("a word that is no secret → one line that says so, not the word; exit 1", async () => {
  const { code, error } = await start(["--port", "0", "--secret", "hunter2"]).ended;
  expect([code, error]).toEqual([1, "A webhook secret is whsec_ and base64.\n"]);
});

test("--json → ready, each event and each refusal one line of JSON; SIGTERM → exit 0", async () => {
  const child = start(["--port", "0", "--json", "--fail", "1"], { WEBHOOK_SECRET: `${OTHER_SECRET},${SECRET}` });
  await child.printed("\n");
  const ready = JSON.parse(child.output());
  expect(ready).toEqual({ ready: true, port: expect.any(Number) });
  const url = `http://127.0.0.1:${ready.port}/`;
  for (const expected of [500, 204, 204]) expect(await status(deliver(url, { id: "event-1" }))).toBe(expected);
  child.kill("SIGTERM");
  const { code, said } = await child.ended;
  expect(code).toBe(0);
  const lines = said
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => JSON.parse(line));
  const event: unknown = JSON.parse(BODY);
  expect(lines).toMatchObject([
    { refused: { status: 500 } },
    { id: "event-1", duplicate: false, event },
    { id: "event-1", duplicate: true, event },
  ]);
});

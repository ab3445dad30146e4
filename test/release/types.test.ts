import { join } from "node:path";
import { expect, test } from "vitest";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { runProgram } from "../support/tools/run-command.ts";
import { FOLDERS } from "./install.ts";

test.each(FOLDERS)("the folder %s, which npm run types leaves out → passes the type check", async (folder) => {
  const tsc = join(PROJECT_ROOT, "node_modules/typescript/bin/tsc");
  const { output } = await runProgram(Deno.execPath(), ["run", "-A", tsc, "--noEmit", "-p", folder]).ended;
  expect(output).toBe("");
});

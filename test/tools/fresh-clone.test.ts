import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { copyCheckout } from "../support/tools/copy-checkout.ts";
import { runProgram } from "../support/tools/run-command.ts";

let folder: string;
let clone: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "keyframe-clone-"));
  // Chromium and a Postgres of another user read it.
  await Deno.chmod(folder, 0o755);
  clone = join(folder, "keyframe");
  // A clean `npm ci` is the first command of .ci/run; that it is run where something is missing: stack-install-missing.test.ts.
  await copyCheckout(clone);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** As a newcomer types it: no program of this checkout within reach, and Deno's cache is empty. */
async function typed(...words: string[]) {
  const path = (Deno.env.get("PATH") ?? "").split(delimiter).filter((entry) => !entry.includes("node_modules"));
  const home = join(folder, "home");
  await mkdir(home, { recursive: true });
  const env = { PATH: path.join(delimiter), HOME: home, DENO_DIR: "" };
  return await runProgram("npm", words, env, clone).ended;
}

test("README → names the two commands, each of which first installs what is missing", async () => {
  const read = (path: string) => Deno.readTextFile(join(PROJECT_ROOT, path));
  const [, block = ""] = /^## Try it\n[\s\S]*?```sh\n([\s\S]*?)```/m.exec(await read("README.md")) ?? [];
  const commands = block.split("\n").flatMap((line) => /^(npm .*?)\s*(#.*)?$/.exec(line)?.[1] ?? []);
  expect(commands).toEqual(["npm run demo", "npm test"]);
  const { scripts } = JSON.parse(await read("package.json")) as { scripts: Record<string, string> };
  for (const name of ["demo", "test"]) expect(scripts[name]).toMatch(/^node local\/install-missing\.mjs && /);
});

test("npm run demo in a fresh clone → its own stack, the whole film, the stack ends", async () => {
  const { code, output } = await typed("run", "demo", "--", "--port", "0");
  expect(output).toContain("starting one");
  expect(output).toMatch(/events .* 4 arrived, all signed/);
  expect([code, output]).toEqual([0, expect.stringContaining("Everything worked")]);
  const [, film = ""] = /Watch the film:\n\n {2}(\S+)\n/.exec(output) ?? [];
  expect(film).toBe(join(clone, ".keyframe", "demo.mp4"));
  expect(new TextDecoder().decode((await Deno.readFile(film)).slice(4, 8))).toBe("ftyp");
});

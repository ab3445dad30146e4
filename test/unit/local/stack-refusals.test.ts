import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { oneLine } from "../../../command-line/run-main.ts";
import { freePort } from "../../../local/network.ts";
import { removeData } from "../../../local/stack/data-folder.ts";
import { readStackOptions } from "../../../local/stack/stack-settings.ts";
import { startStack } from "../../../local/stack/start-stack.ts";
import { allGone, descendantsOf, runCommand, runProgram } from "../../support/tools/run-command.ts";

let dataDir: string;

beforeEach(async () => {
  dataDir = await Deno.makeTempDir({ prefix: "keyframe-refusals-" });
});

afterEach(() => removeData(dataDir));

type Given = { port?: string; data?: string; reset?: boolean };

async function refusal({ port = "0", data = dataDir, reset }: Given = {}, env: Record<string, string> = {}) {
  const start = async () => await startStack({ ...readStackOptions({ port, data }, (name) => env[name]), reset });
  return await start().then(() => "It started.", oneLine);
}

test("ports that a stack picks for its processes → all different, although none listens yet", () => {
  const ports = Array.from({ length: 2_000 }, freePort);
  expect(new Set(ports).size).toBe(ports.length);
});

const GIVEN = "postgres://boss:sekret@127.0.0.1:1/film";
test.each<[Given, Record<string, string>, RegExp]>([
  [{ port: "abc" }, {}, /^--port must be a number from 0 to 65535, not "abc"\.$/],
  [{ port: "65536" }, {}, /^--port must be a number from 0 to 65535, not "65536"\.$/],
  [{}, { KEYFRAME_DATABASE_URL: GIVEN }, /KEYFRAME_DATABASE_URL/],
  [{}, { KEYFRAME_DATABASE_URL: "nonsense:sekret" }, /KEYFRAME_DATABASE_URL/],
  [{ reset: true }, { KEYFRAME_DATABASE_URL: GIVEN }, /^--reset does not empty/],
  [
    {},
    { KEYFRAME_REPLICATE_API_TOKEN: "r8_film", KEYFRAME_PUBLIC_URL: "https://film.example" },
    /KEYFRAME_REPLICATE_WEBHOOK_SECRET/, // with which callbacks are verified
  ],
])("a start with %j and %j → refused, without the password", async (given, env, line) => {
  const said = await refusal(given, env);
  expect(said).toMatch(line);
  expect(said).not.toContain("sekret");
});

test("npm start on a busy port → one line that names it, exit 1", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  const line = `Port ${port} is in use. Is another stack running? Choose another port with -- --port N, or 0 for any free one.`;
  const args = ["--port", String(port), "--data", dataDir];
  expect(await runCommand("local/start.ts", args).ended).toMatchObject({ code: 1, output: `${line}\n` });
});

test("a database folder with other files → refused, and they are still there", async () => {
  await Deno.chmod(dataDir, 0o755);
  const file = join(dataDir, "postgres", "film.txt");
  await Deno.mkdir(join(dataDir, "postgres"));
  await Deno.writeTextFile(file, "mine");
  expect(await refusal()).toContain("it holds no Postgres cluster");
  expect(await Deno.readTextFile(file)).toBe("mine");
});

test("unreadable keys, or a data folder that is a file → refused with what is wrong", async () => {
  const file = join(dataDir, "keys.json");
  await Deno.writeTextFile(file, "{");
  expect(await refusal()).toMatch(/keys\.json is not a valid keys file: use --reset, which deletes the data/);
  expect(await refusal({ data: file })).toMatch(/^The data folder .* cannot be used/);
});

test("SIGTERM during the start → exit 0, no process left; the next start on these data works", async () => {
  const args = ["--port", "0", "--data", dataDir];
  const first = runCommand("local/start.ts", args);
  await first.printed("Postgres");
  const children = await descendantsOf(first.pid);
  first.kill("SIGTERM");
  expect(await first.ended).toMatchObject({ code: 0, lastLine: "Stopped." });
  await allGone(children, 0);

  // npm runs the script in a shell; a signal to npm may reach only the shell.
  const script = `"${Deno.execPath()}" run -A local/start.ts ${args.join(" ")}; exit 1`;
  const npm = runProgram("/bin/sh", ["-c", script], { npm_lifecycle_event: "start" });
  await npm.printed("Migrations");
  const all = await descendantsOf(npm.pid);
  npm.kill("SIGKILL");
  await allGone(all);
  await npm.ended;
});

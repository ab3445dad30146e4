import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { removeData } from "../../../local/stack/data-folder.ts";
import { allGone, descendantsOf, runCommand, runProgram } from "../../support/tools/run-command.ts";

// A start takes a minute where the machine is busy.
let dataDir: string;

beforeEach(async () => {
  dataDir = await Deno.makeTempDir({ prefix: "keyframe-refusals-" });
});

afterEach(() => removeData(dataDir));

/** What a start that cannot succeed says, without the stages it got through. */
async function refusal(args: string[], env: Record<string, string> = {}): Promise<{ code: number; said: string[] }> {
  const { code, output } = await runCommand("local/start.ts", ["--port", "0", "--data", dataDir, ...args], env).ended;
  const said = output.split("\n").filter((line) => line.trim() !== "" && !/^ {2}[A-Z][^.]*$/.test(line));
  return { code, said };
}

const GIVEN = "postgres://boss:sekret@127.0.0.1:1/film";
test.each<[string[], Record<string, string>, string | RegExp]>([
  [["--port", "abc"], {}, '--port must be a number from 0 to 65535, not "abc".'],
  [["--port", "65536"], {}, '--port must be a number from 0 to 65535, not "65536".'],
  [["--json"], {}, "Unknown option '--json': --help lists what there is."],
  [["film"], {}, "Unexpected argument 'film': --help lists what there is."],
  [[], { KEYFRAME_DATABASE_URL: GIVEN }, /KEYFRAME_DATABASE_URL/],
  [[], { KEYFRAME_DATABASE_URL: "nonsense:sekret" }, /KEYFRAME_DATABASE_URL/],
  [["--reset"], { KEYFRAME_DATABASE_URL: GIVEN }, /^--reset does not empty/],
  [
    [],
    { KEYFRAME_REPLICATE_API_TOKEN: "r8_film", KEYFRAME_PUBLIC_URL: "https://film.example" },
    /KEYFRAME_REPLICATE_WEBHOOK_SECRET/, // with which callbacks are verified
  ],
])("start %j with %j → refused in one line without the password, exit 1", async (args, env, line) => {
  const { code, said } = await refusal(args, env);
  expect({ code, said }).toEqual({ code: 1, said: [typeof line === "string" ? line : expect.stringMatching(line)] });
  expect(said.join()).not.toContain("sekret");
});

test("a busy port → one line that names it, exit 1", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  const line = `Port ${port} is busy. Is another stack running? Choose another port with --port, or 0 for any.`;
  expect(await refusal(["--port", String(port)])).toEqual({ code: 1, said: [line] });
});

test("a database folder that holds something else → one line, exit 1, and it is still there", async () => {
  await Deno.chmod(dataDir, 0o755);
  const file = join(dataDir, "postgres", "film.txt");
  await Deno.mkdir(join(dataDir, "postgres"));
  await Deno.writeTextFile(file, "mine");
  const { code, said } = await refusal([]);
  expect({ code, said }).toEqual({ code: 1, said: [expect.stringContaining("it holds no Postgres cluster")] });
  expect(await Deno.readTextFile(file)).toBe("mine");
});

test("keys that cannot be read, a data folder that is a file → one line, exit 1", async () => {
  const file = join(dataDir, "keys.json");
  await Deno.writeTextFile(file, "{");
  const keys = { code: 1, said: [expect.stringMatching(/keys\.json cannot be read .* --reset deletes the data/)] };
  expect(await refusal([])).toEqual(keys);
  const folder = { code: 1, said: [expect.stringMatching(/^The data folder .* cannot be used/)] };
  expect(await refusal(["--data", file])).toEqual(folder);
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

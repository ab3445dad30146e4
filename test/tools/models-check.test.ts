import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readRows, rowsFromProject } from "../../tools/models-check/read-rows.ts";
import { readArguments } from "../../tools/models-check/read-arguments.ts";
import { serveHttp } from "../../local/simulator/serve-http.ts";
import { runCommand } from "../support/tools/run-command.ts";
import { until } from "../support/until.ts";
import { imageRow, projectRows, startProvider, videoRow } from "./models-check-fixture.ts";

const run = (args: string[], environment: Record<string, string> = {}) =>
  runCommand("tools/models-check.ts", args, environment).ended;

// This is what fails when a migration ships a row that its model does not take.
test("nothing in the environment → what the migrations ship fits the records: a table, a summary, exit 0", {
  timeout: 90_000,
}, async () => {
  const { code, said, error } = await run([]);
  expect([code, error], said).toEqual([0, ""]);
  expect(said).toMatch(/^video +kwaivgi\/kling-v3-omni-video \(default\) +recorded \d{4}-\d\d-\d\d, [a-z ]+ +fits$/m);
  const [, count] =
    /Every one fits its model's schema: (\d+) rows of models, from this repository's migrations\.\n$/.exec(said) ?? [];
  expect(Number(count)).toBeGreaterThanOrEqual(20);
});

test("asked to stop while its Postgres runs → one line, exit 2, and no folder is left", {
  timeout: 90_000,
}, async () => {
  const folder = await Deno.makeTempDir({ prefix: "kf-models-check-" });
  await Deno.chmod(folder, 0o777);
  const command = runCommand("tools/models-check.ts", [], { TMPDIR: folder });
  const left = () => Array.from(Deno.readDirSync(folder), ({ name }) => name);
  await until("its folder is there", () => left().length > 0, 60_000);
  command.kill("SIGTERM");
  expect(await command.ended).toMatchObject({ code: 2, error: expect.stringMatching(/^[^\n]+\n$/) });
  expect(left()).toEqual([]);
  await Deno.remove(folder);
});

describe("a project and a provider", () => {
  const rows = [imageRow(), videoRow()];
  const paths: string[] = [];
  let project: Awaited<ReturnType<typeof serveHttp>>;
  let replicate: Awaited<ReturnType<typeof startProvider>>;
  let environment: Record<string, string>;
  beforeAll(async () => {
    project = await serveHttp(async (request) => {
      const { pathname, search } = new URL(request.url);
      paths.push(pathname + search);
      if (request.headers.get("apikey") !== "sb_secret_right") return Response.json({}, { status: 401 });
      return Response.json(projectRows(rows));
    }, 0);
    replicate = await startProvider("r8_right", (_name, { mode }) => {
      if (mode) mode.enum = ["standard", "max"];
    });
    const url = `http://127.0.0.1:${project.port}`;
    environment = {
      SUPABASE_URL: url,
      SUPABASE_SECRET_KEYS: '{"default":"sb_secret_right"}',
      KEYFRAME_REPLICATE_API_BASE_URL: replicate.apiUrl,
    };
  });
  afterAll(async () => {
    await project.stop();
    await replicate.stop();
  });

  test("a schema that has drifted → its line, exit 1", async () => {
    const { code, said } = await run([], { ...environment, KEYFRAME_REPLICATE_API_TOKEN: "r8_right" });
    expect(code).toBe(1);
    expect(said).toContain(
      'Wrong: video  kwaivgi/kling-v2.1  with resolution 1080p: input.mode: mode must be one of the following: "standard", "max"\n',
    );
    expect(said).toContain(`1 finding in 2 rows of models, from the project ${environment.SUPABASE_URL}.\n`);
    expect(paths.at(-1)).toMatch(
      /^\/rest\/v1\/models\?select=step,model,controls,fixed,step_defaults\(step\)&order=step,position,model$/,
    );
  });

  test("a key that the project refuses → one line without the secret, exit 2", async () => {
    const { code, said, error } = await run([], { ...environment, SUPABASE_SECRET_KEY: "sb_secret_wrong" });
    const line = /refuses the key \(401\): it has to be the project's secret key\.\n$/;
    expect([code, said, error]).toEqual([2, "", expect.stringMatching(line)]);
    expect(error).not.toContain("_wrong");
  });
});

test("a project whose table is empty → the check failed", async () => {
  const { port, stop } = await serveHttp(async () => Response.json([]), 0);
  const source = { from: "project", url: `http://127.0.0.1:${port}`, secretKey: "key" } as const;
  await expect(readRows(source, new AbortController().signal)).rejects.toThrow(
    `models has no rows in the project http://127.0.0.1:${port}.`,
  );
  await stop();
});

test("rows of a project that lack a column → the check failed", async () => {
  const { fixed: _missing, ...row } = imageRow();
  const answer = async () => Response.json([row]);
  await expect(rowsFromProject("https://x.test", "key", answer)).rejects.toThrow("is SUPABASE_URL right?");
});

describe("which rows and schemas are compared", () => {
  const read = (args: string[], environment: Record<string, string> = {}) =>
    readArguments(args, (name) => environment[name]);
  const project = {
    SUPABASE_URL: "https://x.supabase.co/",
    SUPABASE_SECRET_KEYS: '{"default":"sb_secret_x"}',
  };

  test.each<[string, Record<string, string>, object]>([
    ["nothing", {}, { from: "migrations" }],
    ["a project", project, { from: "project", url: "https://x.supabase.co", secretKey: "sb_secret_x" }],
    ["a project without its key", { SUPABASE_URL: "https://x.supabase.co" }, { from: "migrations" }],
  ])("%s → the rows of that", (_name, environment, rows) => {
    expect(read([], environment).rows).toEqual(rows);
  });

  test("a token → what Replicate publishes; without one, the records", () => {
    const token = { KEYFRAME_REPLICATE_API_TOKEN: "r8_x" };
    expect(read([], token).provider).toEqual({ baseUrl: "https://api.replicate.com/v1", token: "r8_x" });
    expect(read([]).provider).toBeUndefined();
  });

  test.each<[string[], Record<string, string>, string]>([
    [["--record"], {}, "--record reads from Replicate: set KEYFRAME_REPLICATE_API_TOKEN."],
    [["--what"], {}, "--help lists what there is"],
    [[], { SUPABASE_SECRET_KEYS: "hunter2" }, "SUPABASE_SECRET_KEYS is wrong (must be JSON)"],
  ])("%j with %j → refused, without repeating a secret", (args, environment, message) => {
    const refused = () => read(args, environment);
    expect(refused).toThrow(message);
    expect(refused).not.toThrow("hunter2");
  });
});

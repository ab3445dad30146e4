import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { removeData } from "../../local/stack/data-folder.ts";
import type { Stage } from "../../command-line/show-stages.ts";
import { FUNCTION_NAMES } from "../../local/stack/function-arguments.ts";
import { type Stack, startStack } from "../../local/stack/start-stack.ts";
import { runDemo } from "../../tools/demo/run-demo.ts";
import { migrationName } from "../../tools/install/source.ts";
import { readEverything } from "../support/database/everything.ts";
import { filesOfFunction } from "../support/tools/deploy-graph.ts";
import { PROJECT } from "../support/tools/deploy-platform.ts";
import { type DeployScene, openDeployScene } from "../support/tools/deploy-scene.ts";
import { type AppRepository, giveOwnThings, initApp } from "../support/tools/install-apps.ts";
import { makeVersions } from "../support/tools/next-version.ts";

// The real Supabase CLI and a real Postgres; the Management API is a stand-in. The tests of each repository run in order.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

let parent: string;
let scene: DeployScene;
const make = (name: string) => initApp(parent, name, { ...scene.login, HOME: parent });
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), "keyframe-install-test-"));
  scene = await openDeployScene();
});
afterAll(async () => {
  await scene.stop();
  await rm(parent, { recursive: true });
});

const push = (app: AppRepository) => app.supabase("db", "push", `--remote=${scene.databaseUrl}`, "--yes");
const everything = () => readEverything(scene.sql);

/** Deploys all functions of the app. The uploads of ours must be their module graphs. */
async function deployFunctions(app: AppRepository, names: readonly string[]): Promise<Map<string, string>> {
  scene.platform.uploads = [];
  await app.supabase("functions", "deploy", "--use-api", "--yes", `--remote=${PROJECT}`);
  const uploaded = new Map<string, string>();
  for (const name of names) {
    const [upload, ...more] = scene.platform.uploads.filter(({ slug }) => slug === name);
    expect([name, more.length, upload?.metadata.verify_jwt]).toEqual([name, 0, false]);
    expect(upload?.files).toEqual(await filesOfFunction(name, app.folder));
    for (const [path, text] of upload?.contents ?? []) uploaded.set(path, text);
  }
  return uploaded;
}

describe("a repository fresh from supabase init", () => {
  let app: AppRepository;
  let before: Map<string, string>;
  beforeAll(async () => {
    app = await make("empty");
    before = await app.files();
  });

  test("add --dry-run → names every file, writes none", async () => {
    const { code, said } = await app.install(["add", "--dry-run"]);
    expect(code).toBe(0);
    expect(said).toMatch(/would write +supabase\/migrations\/\d{14}_keyframe_0_1_0\.sql$/m);
    expect(said).toMatch(/would write +supabase\/config\.toml$/m);
    expect(await app.files()).toEqual(before);
  });

  test("add --function-name films → functions that deploy, under that name, and a second add changes nothing", async () => {
    expect(await app.install(["add", "--function-name", "films"])).toMatchObject({ code: 0 });
    const names = FUNCTION_NAMES.map((name) => (name === "api" ? "films" : name));
    const added = await app.files();
    expect([...added.keys()].some((path) => path.startsWith("supabase/functions/api/"))).toBe(false);
    expect((await deployFunctions(app, names)).size).toBeGreaterThan(80);
    const { said } = await app.install(["add"]);
    expect(said).toContain("Everything is already there.");
    expect(said).toContain("There is no budget yet: users can spend without a limit. --user-budget 10");
    expect(await app.files()).toEqual(added);
  });

  test("add --without-mcp → no function for agents, nor by a later add; --with-mcp → adds the function", async () => {
    const hasMcp = async () => {
      const files = await app.files();
      const config = files.get("supabase/config.toml")?.includes("[functions.keyframe-mcp]");
      return [files.has("supabase/functions/keyframe-mcp/index.ts"), config];
    };
    for (const [args, expected] of [
      [["--without-mcp"], false],
      [[], false],
      [["--with-mcp"], true],
      [[], true],
    ] as const) {
      expect(await app.install(["add", ...args])).toMatchObject({ code: 0 });
      expect(await hasMcp()).toEqual([expected, expected]);
    }
  });

  test("add --user-budget 10 → the SQL that sets it, to run after the migrations", async () => {
    const { said } = await app.install(["add", "--user-budget", "10"]);
    expect(said).toContain("update keyframe_private.settings set owner_month_micros = 10000000 where");
    expect(said).not.toContain("service_month_micros");
  });

  test.each([
    [["--service-budget", "a lot"], "--service-budget must be dollars a month, such as 10 or 0.50."],
    [["--function-name", "keyframe-deliver"], "keyframe-deliver is another function of Keyframe"],
    [["--function-name", "My Films"], "--function-name must be lowercase letters"],
  ])("add %j → refused in one line", async (args, said) => {
    expect(await app.install(["add", ...args])).toEqual({ code: 1, said: expect.stringMatching(`^.*${said}.*\n$`) });
  });

  test("add with another name and an edited file → refused, naming it; --force moves the folder; edited migration → refused", async () => {
    const path = "supabase/functions/films/index.ts";
    await app.write(path, "// mine\n");
    const refused = await app.install(["add", "--function-name", "cinema"]);
    expect(refused).toMatchObject({ code: 1, said: expect.stringContaining(`Edited since they were copied: ${path}`) });
    expect(await app.install(["add", "--function-name", "cinema", "--force"])).toMatchObject({ code: 0 });
    const files = await app.files();
    expect([files.has(path), files.has("supabase/functions/cinema/index.ts")]).toEqual([false, true]);
    expect(files.get("supabase/config.toml")).toMatch(/^(?!.*films).*\[functions\.cinema\]/s);

    const migration = [...files.keys()].find((file) => file.endsWith("_keyframe_0_1_0.sql")) ?? "";
    await app.write(migration, `${files.get(migration)}select 1;\n`);
    const file = migration.replace("supabase/migrations/", "");
    expect(await app.install(["add"])).toMatchObject({ code: 1, said: expect.stringContaining(file) });
  });
});

describe("a repository with tables, functions, seeds and exposed schemas of its own", () => {
  let app: AppRepository;
  let database: string[];
  let before: Map<string, string>;
  let uploaded: Map<string, string>;
  let newer: string;
  beforeAll(async () => {
    app = await make("cinema");
    await giveOwnThings(app);
    await push(app);
    before = await app.files();
    database = await everything();
  });

  test("add, db push, functions deploy in an app → our objects next to the app's, which are as before", async () => {
    const { code, said } = await app.install(["add"]);
    expect([code, said]).toEqual([0, expect.stringContaining("supabase db push")]);
    expect(said).toContain("before the next supabase start: supabase db start && supabase migration up");
    const files = await app.files();
    for (const [path, text] of before) {
      if (path !== "supabase/config.toml") expect([path, files.get(path)]).toEqual([path, text]);
    }
    expect(files.get("supabase/config.toml.before-keyframe")).toBe(before.get("supabase/config.toml"));
    expect(files.get("supabase/config.toml")).toContain('"cinema", "keyframe", "keyframe_worker",\n]');
    await push(app);
    const now = await everything();
    expect(database.filter((entry) => !now.includes(entry))).toEqual([]);
    uploaded = await deployFunctions(app, FUNCTION_NAMES);
    expect(scene.platform.uploads.map(({ slug }) => slug).sort()).toEqual([...FUNCTION_NAMES, "mail"].sort());
  });

  test("only the uploaded files, with all migrations of the repository → make a whole film", async () => {
    const folder = join(parent, "uploaded");
    for (const [path, text] of uploaded) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    for (const path of ["supabase/migrations", "supabase/config.toml"]) {
      await cp(join(app.folder, path), join(folder, path), { recursive: true });
    }
    const dataDir = await mkdtemp(join(tmpdir(), "keyframe-install-stack-"));
    let stack: Stack | undefined;
    try {
      const simulator = { startDelayMs: 0, runDelayMs: 0, imageWidth: 160 };
      stack = await startStack({ dataDir, port: 0, durable: false, simulator, project: folder });
      const steps: Stage[] = [];
      await runDemo({
        url: stack.url,
        publishableKey: stack.keys.publishableKey,
        timeoutMs: 60_000,
        signal: new AbortController().signal,
        steps,
      });
      expect(steps.map(({ name }) => name)).toEqual(expect.arrayContaining(["video", "events"]));
    } finally {
      await stack?.stop();
      await removeData(dataDir);
    }
  });

  test("add of a newer version → copies its one migration, and db push keeps the data", async () => {
    const [user] =
      await scene.sql`insert into auth.users (id, email) values (gen_random_uuid(), 'a@film.local') returning id`;
    await scene.sql`insert into keyframe.projects (owner_id, title, text_prompt) values (${user?.id}, 'Harbour', 'A harbour at dawn')`;
    const { old, next } = await makeVersions(parent);
    newer = next.folder;
    const had = await app.files();
    const { code, said } = await app.install(["add"], newer);
    expect([code, said]).toEqual([0, expect.stringContaining(`Keyframe ${next.version}, from ${old.version}`)]);
    const files = await app.files();
    const added = [...files.keys()]
      .filter((path) => !had.has(path))
      .map((path) => migrationName(path.split("/")[2] ?? ""));
    expect(added).toEqual([next.migration]);
    await push(app);
    expect([...(await scene.sql`select title, director from keyframe.projects`)]).toEqual([
      { title: "Harbour", director: null },
    ]);
    const versions = await scene.sql`select version from keyframe_private.installation order by version`;
    expect(versions.map(({ version }) => version)).toEqual([old.version, next.version]);
    const older = await app.install(["add"]);
    expect(older).toMatchObject({ code: 1, said: expect.stringContaining("use a newer version of Keyframe") });
  });

  test("remove → says which data would be deleted; --yes and its steps → the database as before; --migrations → the folder too", async () => {
    const had = await app.files();
    const refused = await app.install(["remove"]);
    expect(refused.said).not.toContain("deno.lock"); // Deno has made none
    const named = expect.stringMatching(/projects, predictions.*run the command again with --yes/s);
    expect([refused, await app.files()]).toEqual([{ code: 1, said: named }, had]);
    await scene.sql`delete from auth.users`;
    const removed = await app.install(["remove", "--yes"], newer);
    const next =
      /db push.*functions delete <name>.*for each of api,.*out of the exposed schemas.*PGRST106.*(drop schema [^;]*)/s;
    expect(removed).toEqual({ code: 0, said: expect.stringMatching(next) });
    const migrations = /^supabase\/migrations\/\d+_keyframe_/;
    const kept = [...(await app.files())].filter(([path]) => !migrations.test(path));
    expect(new Map(kept)).toEqual(before);
    // The app has built on a table of ours.
    await scene.sql`create view cinema.titles as select title from keyframe.projects`;
    const pushed = await push(app).catch(String);
    expect(pushed).toMatch(
      /Keyframe is not removed.*- view cinema\.titles.*remove --yes --drop 'view cinema\.titles'/s,
    );
    expect(await app.install(["remove", "--yes", "--drop", "view cinema.titles"])).toMatchObject({ code: 0 });
    await push(app);
    const [, drop = ""] = next.exec(removed.said) ?? [];
    await scene.sql.unsafe(drop);
    expect(await everything()).toEqual(database);

    const { code, said } = await app.install(["remove", "--migrations"], newer);
    expect(code).toBe(0);
    expect(await app.files()).toEqual(before);
    const repair = /supabase (migration repair .*) --remote=<ref>/.exec(said)?.[1] ?? "";
    await app.supabase(...repair.split(" "), `--remote=${scene.databaseUrl}`, "--yes");
    const history = await scene.sql`select version from supabase_migrations.schema_migrations`;
    expect(history.map(({ version }) => version)).toEqual(["20991231235959"]);
    await push(app);
  });
});

import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { databaseStage, projectStage, replicateStage } from "../../tools/deploy/check-stages.ts";
import { budgetsStage } from "../../tools/deploy/budgets-stage.ts";
import { configStage } from "../../tools/deploy/config-stage.ts";
import { extensionsStage, migrationsStage, vaultStage } from "../../tools/deploy/database-stages.ts";
import { functionsStage, secretsStage } from "../../tools/deploy/function-stages.ts";
import { healthStage } from "../../tools/deploy/health-stage.ts";
import { installExtensions } from "../../local/extensions/install-extensions.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { readMigrations } from "../../local/stack/read-migrations.ts";
import { SCHEMA_VERSION } from "../../shared/platform/schema-version.ts";
import { supabaseCli } from "../../local/stack/supabase-cli.ts";
import type { Stage } from "../../tools/deploy/stage.ts";
import { STAGES } from "../../tools/deploy/stages.ts";
import { readSource } from "../../tools/install/source.ts";
import { onServer } from "../../local/postgres/on-server.ts";
import { FUNCTION_NAMES } from "../../local/stack/function-arguments.ts";
import { filesOfFunction } from "../support/tools/deploy-graph.ts";
import { type DeployPlatform, PROJECT, REPLICATE_TOKEN, SIGNING_SECRET } from "../support/tools/deploy-platform.ts";
import { type DeployScene, makeDeployed, openDeployScene } from "../support/tools/deploy-scene.ts";
import { until } from "../support/until.ts";

// The real Supabase CLI, the real migrations, a real Postgres, the real functions; only Supabase's and Replicate's own servers
// are stand-ins.
// One project: first without a deployment, then with what a deployment leaves, whether one was tried or not. Each test puts back
// what it changed.
// A whole deployment starts the CLI 16 times: what differs in one stage takes that stage alone.

let scene: DeployScene;
let parent: string;
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), "keyframe-deploy-home-"));
  scene = await openDeployScene();
});
afterAll(async () => {
  await scene.stop();
  await rm(parent, { recursive: true });
});
afterEach(() => {
  scene.platform.faults = {};
  scene.platform.requests = [];
  vi.unstubAllEnvs();
});

/** Of an app that shares the project: one before ours, one after. */
const APP_MIGRATIONS: [version: string, name: string][] = [
  ["20250102030405", "projects"],
  ["20991231000000", "halls"],
];

/** Runs the command as a person does. */
const deploy = (args: string[] = [], environment: Record<string, string> = {}) => scene.start(args, environment).ended;

const vaultEntries = () => scene.sql<{ name: string; decrypted_secret: string; updated_at: Date }[]>`
  select name, decrypted_secret, updated_at from vault.decrypted_secrets
  where name in ('keyframe_functions_url', 'keyframe_kick_secret') order by name`;
const jobNames = async () =>
  (await scene.sql<{ jobname: string }[]>`select jobname from cron.job where active`).map((job) => job.jobname).sort();
/** Puts a function under this name into the project, as the app's owner would. */
const putFunction = (slug: string) =>
  scene.platform.functions.activate([
    scene.platform.functions.bundled({ slug, files: [], contents: new Map(), metadata: {} }),
  ]);
function expectNoSecretShown(said: string): void {
  const secrets = [REPLICATE_TOKEN, SIGNING_SECRET, "whsec_", "of-the-database", "sbp_0123"];
  for (const secret of secrets) expect(said).not.toContain(secret);
  if (Deno.build.os === "linux") expect(scene.platform.watched).toBe(true);
  expect(scene.platform.leaks).toEqual([]);
}

describe("a project without a deployment", () => {
  beforeAll(async () => {
    // As the Supabase CLI makes it.
    await scene.sql.unsafe(`
      create schema supabase_migrations authorization postgres;
      create table supabase_migrations.schema_migrations (version text primary key, statements text[], name text);
      alter table supabase_migrations.schema_migrations owner to postgres`);
    for (const [version, name] of APP_MIGRATIONS) {
      await scene.sql`insert into supabase_migrations.schema_migrations (version, name, statements) values (${version}, ${name}, '{select 1}')`;
    }
    putFunction("mail");
  });
  afterAll(async () => {
    const versions = APP_MIGRATIONS.map(([version]) => version);
    await scene.sql`delete from supabase_migrations.schema_migrations where version in ${scene.sql(versions)}`;
    scene.platform.functions.remove("mail");
  });

  test("deploy --dry-run → says what would be done, and sends nothing that writes", async () => {
    const said = await scene.take(undefined, {}, { dryRun: true });
    expect(said).toContain(
      'api.schemas: ["public","graphql_public","app"] → ["public","graphql_public","app","keyframe","keyframe_worker"]',
    );
    expect(said).toMatch(/0 of \d+ migrations applied, as they are here, beside 2 of the app/);
    expect(said).toContain("20261122000100_keyframe_0_1_0.sql");
    expect(said).toMatch(
      /to set: KEYFRAME_REPLICATE_API_TOKEN, KEYFRAME_REPLICATE_WEBHOOK_SECRET, .*KEYFRAME_KICK_SECRET/,
    );
    expect(scene.platform.requests.length).toBeGreaterThan(3);
    expect(scene.platform.takeWrites()).toEqual([]);
    expect(await vaultEntries()).toEqual([]);
    expectNoSecretShown(said);
  });

  const throttled = { status: 400, body: { message: "ThrottlerException: Too Many Requests" } };
  test.each<[string, Stage, Record<string, string>, DeployPlatform["faults"], string]>([
    ["no login", projectStage, { SUPABASE_ACCESS_TOKEN: "" }, {}, "Run `npx supabase login`, or set SUPABASE_ACCESS"],
    ["a project that is not there", projectStage, {}, { "GET /secrets": 404 }, "npx supabase projects list"],
    ["no Replicate token", replicateStage, { KEYFRAME_REPLICATE_API_TOKEN: "" }, {}, "create a token at https://repl"],
    ["another's token", replicateStage, { KEYFRAME_REPLICATE_API_TOKEN: "r8_of_another" }, {}, "create a new one"],
    ["settings that are refused", configStage, {}, { "PATCH /postgrest": 403 }, "an owner or administrator of its"],
    ["secrets above a limit", secretsStage, {}, { "POST /secrets": throttled }, "Supabase is rate-limiting"],
    ["a database out of reach", migrationsStage, {}, {}, "Set SUPABASE_DB_URL to the session pooler's"],
  ])("deploy with %s → what to do, nothing changed", async (_what, stage, environment, faults, said) => {
    scene.platform.faults = faults;
    const stages = stage === migrationsStage ? [databaseStage, stage] : [stage];
    await expect(scene.take(stages, environment)).rejects.toThrow(said);
    const refused = Object.keys(faults);
    expect(scene.platform.takeWrites().filter((line) => !refused.includes(line))).toEqual([]);
    expect(scene.platform.api.db_schema).toBe("public,graphql_public,app");
  });

  test("SUPABASE_DB_URL of another database → refused, and neither database is changed", async () => {
    await scene.sql`create database other owner postgres`;
    const elsewhere = scene.databaseUrl.replace(/\/postgres$/, "/other");
    await expect(scene.take([databaseStage, migrationsStage], { SUPABASE_DB_URL: elsewhere })).rejects.toThrow(
      `SUPABASE_DB_URL is not the database of the project ${PROJECT}`,
    );
    expect(scene.platform.takeWrites()).toEqual([]);
    const other = postgres(elsewhere, { max: 1 });
    expect(await other`select to_regnamespace('supabase_migrations') as history`).toEqual([{ history: null }]);
    await other.end();
  });

  test("an app's function has one of our names → named, nothing changed", async () => {
    putFunction("api");
    try {
      await expect(scene.take([databaseStage])).rejects.toThrow(/has the function api already.*--function-name/);
      expect(scene.platform.takeWrites()).toEqual([]);
    } finally {
      scene.platform.functions.remove("api");
    }
  });

  test("an app's schema has one of our names → the migration and what Postgres said; not exposed, nothing is left behind", async () => {
    await scene.sql`create schema keyframe_worker`;
    try {
      await expect(scene.take(undefined, { SUPABASE_DB_URL: scene.databaseUrl })).rejects.toThrow(
        /^Migrations: .*20261122000100_keyframe_0_1_0\.sql.*schema "keyframe_worker" already exists.* Done: Project, Replicate, Database\./s,
      );
      expect(scene.platform.takeWrites()).toEqual([]);
      expect([...(await scene.sql`select to_regnamespace('keyframe') as ours`)]).toEqual([{ ours: null }]);
    } finally {
      await scene.sql`drop schema keyframe_worker`;
    }
  });

  test("Ctrl-C during a deployment → ends the CLI; says what is done, what is not, how to continue; exit 1", async () => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<undefined>();
    scene.platform.faults = {
      "GET /secrets": () => {
        asked.resolve();
        return answer.promise;
      },
    };
    const command = scene.start();
    await Promise.race([asked.promise, command.ended]);
    command.kill("SIGINT");
    const { code, error } = await command.ended;
    answer.resolve(undefined);
    expect(code).toBe(1);
    expect(error).toMatch(
      /Project: It was stopped\. Done: nothing\. Not done: Project, Replicate, .*Health\. Continue with: npm run deploy -- --project \w+$/m,
    );
  });

  test("a first deployment → exit 0, everything exists next to the app's objects, and no secret is shown or in a file", async () => {
    const AWKWARD = 'of more # than "thirty-two" $characters \\n';
    const temporary = await mkdtemp(join(tmpdir(), "keyframe-deployed-"));
    // What a killed deployment would leave.
    let whileItSetsTheSecrets: { jobs: string[]; uploads: number; withSecret: string[] } | undefined;
    scene.platform.faults = {
      "POST /secrets": async () => {
        const withSecret = [];
        for (const name of await readdir(temporary, { recursive: true })) {
          const text = await readFile(join(temporary, name), "utf8").catch(() => "");
          if (text.includes(REPLICATE_TOKEN)) withSecret.push(name);
        }
        whileItSetsTheSecrets = { jobs: await jobNames(), uploads: scene.platform.uploads.length, withSecret };
        return undefined;
      },
    };
    const ran = await deploy([], { KEYFRAME_JWT_SECRET: AWKWARD, TMPDIR: temporary });
    expect(ran).toMatchObject({ code: 0, error: "" });
    expectNoSecretShown(ran.said);
    const jobs = expect.arrayContaining(["keyframe-sweep"]);
    expect(whileItSetsTheSecrets).toEqual({ jobs, uploads: 0, withSecret: [] });
    await rm(temporary, { recursive: true });

    const others = FUNCTION_NAMES.filter((name) => name !== "api");
    const asked = ["GET /functions/v1/api/health", ...others.map((name) => `POST /functions/v1/${name}`)];
    expect(scene.platform.requests).toEqual(expect.arrayContaining(asked));
    expect(scene.platform.functions.list().map(({ slug, version }) => [slug, version])).toContainEqual(["mail", 1]);
    expect(scene.platform.uploads).toHaveLength(FUNCTION_NAMES.length);
    for (const { slug, files, metadata } of scene.platform.uploads) {
      expect(files).toEqual(await filesOfFunction(slug));
      expect(metadata).toMatchObject({
        verify_jwt: false,
        entrypoint_path: `supabase/functions/${slug}/index.ts`,
        import_map_path: `supabase/functions/${slug}/deno.json`,
      });
    }

    const history =
      await scene.sql`select version, name, statements::text from supabase_migrations.schema_migrations order by 1`;
    expect(history).toHaveLength((await readMigrations()).length + APP_MIGRATIONS.length);
    const kept = history.filter(({ statements }) => statements === '{"select 1"}');
    expect(kept.map(({ version, name }) => [version, name])).toEqual(APP_MIGRATIONS);
    expect(scene.platform.api.db_schema).toBe("public,graphql_public,app,keyframe,keyframe_worker");

    const [url, kick] = await vaultEntries();
    expect(url?.decrypted_secret).toBe(`https://${PROJECT}.supabase.co/functions/v1`);
    expect(kick?.decrypted_secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(Object.fromEntries(scene.platform.secrets)).toEqual({
      KEYFRAME_REPLICATE_API_TOKEN: REPLICATE_TOKEN,
      KEYFRAME_REPLICATE_WEBHOOK_SECRET: SIGNING_SECRET,
      KEYFRAME_KICK_SECRET: kick?.decrypted_secret,
      KEYFRAME_CLIENT_URL: scene.platform.url,
      KEYFRAME_JWT_SECRET: AWKWARD,
      KEYFRAME_REPLICATE_API_BASE_URL: `${scene.platform.url}/replicate/v1`,
    });
  });
});

describe("a later deployment", () => {
  beforeEach(() => makeDeployed(scene));

  const UPLOADS = [...FUNCTION_NAMES.map(() => "POST /functions/deploy"), "PUT /functions"];
  /** As long as a real one waits, but asking more often. */
  const impatient = { now: Date.now, sleep: () => new Promise<void>((done) => setTimeout(done, 100)) };

  test("a later deployment → changes only the functions, needs no Replicate token, and the Data API reloads the schema", async () => {
    const before = await vaultEntries();
    const notices: string[] = [];
    const { unlisten } = await scene.sql.listen("pgrst", (notice) => notices.push(notice));
    await scene.take(undefined, { KEYFRAME_REPLICATE_API_TOKEN: "" }, { clock: impatient });
    await unlisten();
    expect(notices).toEqual(["reload schema"]);
    const writes = scene.platform.takeWrites();
    expect(writes.filter((line) => line !== "POST /database/query")).toEqual(UPLOADS);
    expect(await vaultEntries()).toEqual(before);
  });

  test("budgets requested by option or at the terminal → set where there is none; without them → says there is none", async () => {
    const take = (budgets: { user?: number; service?: number } = {}, answers?: string[]) =>
      scene.take(
        [databaseStage, budgetsStage],
        {},
        {
          budgets: { user: budgets.user, service: budgets.service },
          ask: answers && (() => answers.shift() ?? null),
        },
      );
    const set = async () => {
      const [row] = await scene.sql`
        select owner_month_micros::integer as user, service_month_micros::integer as service from keyframe_private.settings`;
      return row;
    };
    const none = { user: null, service: null };
    expect(await take()).toMatch(/Budgets +none: users can spend without a limit\. Set them with --user-budget 10/);
    expect(await take({}, ["", ""])).toContain("none: users can spend without a limit");
    expect(await set()).toEqual(none);
    expect(await take({}, ["ten", "10", ""])).toContain("to set: $10 a month for each user");
    expect(await set()).toEqual({ user: 10_000_000, service: null });
    expect(await take({ user: 99_000_000, service: 500_500_000 })).toMatch(
      /kept: \$10 a month for each user; to set: \$500\.50 a month for the service/,
    );
    expect(await set()).toEqual({ user: 10_000_000, service: 500_500_000 });
    await scene.sql`update keyframe_private.settings set owner_month_micros = null, service_month_micros = null, owner_day_micros = 1000000`;
    expect(await take({ user: 99_000_000 }, ["7", "7"])).toMatch(/kept: \$1 a day for each user$/);
    expect(await set()).toEqual(none);
    await scene.sql`update keyframe_private.settings set owner_day_micros = null`;
  });

  test("a lost or disabled job, or a rotated kick secret → repaired; another project's address → only with --moved", async () => {
    const rotated = `whsec_${btoa("rotated by hand: thirty-two byte")}`;
    const jobs = await jobNames();
    await scene.sql`delete from cron.job where jobname = 'keyframe-sweep'`;
    await scene.sql`update cron.job set active = false where jobname = 'keyframe-prune'`;
    await scene.sql`select vault.update_secret(id, ${rotated}) from vault.secrets where name = 'keyframe_kick_secret'`;
    await scene.sql`select vault.update_secret(id, 'https://old.example.com/functions/v1') from vault.secrets where name = 'keyframe_functions_url'`;
    const stages = [databaseStage, extensionsStage, vaultStage, secretsStage];
    await expect(scene.take(stages)).rejects.toThrow(
      /works for https:\/\/old\.example\.com\. If it is a copy, .*npm run deploy -- --project \w+ --moved\./,
    );
    expect(scene.platform.secrets.get("KEYFRAME_KICK_SECRET")).not.toBe(rotated);
    const said = await scene.take(stages, {}, { moved: true });
    expect(said).toContain("to set: KEYFRAME_KICK_SECRET\n");
    expect(await jobNames()).toEqual(jobs);
    expect((await vaultEntries()).map((entry) => entry.decrypted_secret)).toEqual([
      `https://${PROJECT}.supabase.co/functions/v1`,
      rotated,
    ]);
    expect(scene.platform.secrets.get("KEYFRAME_KICK_SECRET")).toBe(rotated);
    expectNoSecretShown(said);
  });

  test.each([
    ["app,keyframe", "app,keyframe,keyframe_worker"],
    ["keyframe_worker,keyframe", "keyframe_worker,keyframe"],
  ])(
    "a project that exposes %s and has another setting → then %s: public only where its owner exposes it",
    async (before, after) => {
      Object.assign(scene.platform.api, { db_schema: before, max_rows: 500 });
      await scene.take([configStage]);
      expect(scene.platform.api).toMatchObject({ db_schema: after, max_rows: 1000 });
    },
  );

  /** Runs the command that an error names, at the database itself. */
  const runNamed = async (said: string): Promise<void> => {
    const [, command = ""] = /npx supabase (migration repair [^:]*? --yes) --remote=/.exec(said) ?? [];
    const url = new URL(scene.databaseUrl);
    const env = { PGPASSWORD: url.password };
    url.password = "";
    const { code, stdout, stderr } = await supabaseCli([...command.split(" "), `--remote=${url.href}`], parent, {
      env,
    });
    expect([code, stdout + stderr]).toEqual([0, expect.any(String)]);
  };
  const failureOf = (stages: Stage[]) => scene.take(stages).then(() => "it went well", String);

  test("a lost migration history → the command that repairs it, after which the deployment goes on", async () => {
    await scene.sql`delete from supabase_migrations.schema_migrations where true`;
    const said = await failureOf([databaseStage]);
    expect(said).toMatch(
      /has Keyframe, but its migration history does not say so\. To repair it: .* --status applied --yes --remote=\w+/,
    );
    expect(scene.platform.takeWrites()).toEqual([]);
    await runNamed(said);
    expect(await scene.take([databaseStage, migrationsStage])).toContain("all 1 are there");
  });

  const lost = (schemas: string) => `has lost these schemas of Keyframe: ${schemas}. Restore a backup`;

  test.each(["keyframe", "keyframe_worker"])("the schema %s is lost → named, nothing changed", async (schema) => {
    await scene.sql.unsafe(`alter schema ${schema} rename to lost`);
    try {
      expect(await failureOf([databaseStage])).toContain(lost(schema));
      expect(scene.platform.takeWrites()).toEqual([]);
    } finally {
      await scene.sql.unsafe(`alter schema lost rename to ${schema}`);
    }
  });

  test("the schema keyframe_private is lost → named, with a way to start over", async () => {
    await scene.sql`drop schema keyframe_private cascade`;
    const said = await failureOf(STAGES);
    expect(said).toContain(`DeployError: Database: The database ${lost("keyframe_private")}`);
    expect(scene.platform.takeWrites()).toEqual([]);
    const { removeSql } = await readSource(PROJECT_ROOT);
    await onServer(scene.databaseUrl, (sql) => sql.unsafe(removeSql));
    for (const name of FUNCTION_NAMES) scene.platform.functions.remove(name);
    expect(await failureOf([databaseStage])).toContain(lost("keyframe_private"));
    await runNamed(said);
    expect(await scene.take([databaseStage])).toContain("0 of 1 migrations applied");
    await makeDeployed(scene);
    expect(await scene.take([databaseStage, migrationsStage])).toContain("all 1 are there");
  });

  test("an extension is lost → named; once it is enabled again, its jobs and secrets come back", async () => {
    const jobs = await jobNames();
    const stages = [databaseStage, extensionsStage, vaultStage];
    for (const [schema, extension] of [
      ["cron", "pg_cron"],
      ["vault", "supabase_vault"],
    ]) {
      await scene.sql.unsafe(`drop schema ${schema} cascade`);
      expect(await failureOf(stages)).toMatch(
        new RegExp(`creating extensions and jobs.*${extension}.*is not available`),
      );
      await installExtensions(scene.sql, { useReal: false });
      await scene.take(stages);
      expect([await jobNames(), (await vaultEntries()).length]).toEqual([jobs, 2]);
    }
  });

  test("a job of another database → scheduled here; a job of another role → the statement to run, after which all is well", async () => {
    const ours = await scene.sql`select jobname, username, database, command from cron.job order by jobname`;
    await scene.sql`update cron.job set database = 'film' where jobname = 'keyframe-prune'`;
    const [job] = await scene.sql`
      update cron.job set username = 'supabase_admin' where jobname = 'keyframe-sweep' returning jobid`;
    const said = await failureOf([extensionsStage]);
    const [, statement = ""] = /as that role or a superuser, (select [^;]*;)/.exec(said) ?? [];
    expect(statement).toBe(`select cron.unschedule(${job?.jobid});`);
    await scene.sql.unsafe(statement);
    await scene.take([extensionsStage]);
    expect(await scene.sql`select jobname, username, database, command from cron.job order by jobname`).toEqual(ours);
  });

  test("a Vault that cannot decrypt → a new kick secret; a new address only when --moved says that the database has moved", async () => {
    const before = await vaultEntries();
    await scene.sql`update vault.secrets set secret = 'bm90IHJlYWRhYmxl' where name = 'keyframe_functions_url'`;
    const stages = [databaseStage, vaultStage, secretsStage];
    expect(await failureOf(stages)).toMatch(/its Vault does not say for which\. .* --moved\./);
    await scene.sql`update vault.secrets set secret = 'bm90IHJlYWRhYmxl' where name = 'keyframe_kick_secret'`;
    const said = await scene.take(stages, {}, { moved: true });
    const [url, kick] = await vaultEntries();
    expect(url?.decrypted_secret).toBe(before[0]?.decrypted_secret);
    expect(kick?.decrypted_secret).not.toBe(before[1]?.decrypted_secret);
    expect(scene.platform.secrets.get("KEYFRAME_KICK_SECRET")).toBe(kick?.decrypted_secret);
    expectNoSecretShown(said);
  });

  test("one function is refused → the stage, what the platform said, and where to see which versions run", async () => {
    scene.platform.faults = {
      "POST /functions/deploy keyframe-deliver": { status: 413, body: { message: "bundle too large" } },
    };
    await expect(scene.take([functionsStage])).rejects.toThrow(
      /^Functions: Failed while deploying the functions.*bundle too large.* Done: nothing\. Not done: Functions\. Continue with: npm run deploy/s,
    );
  });

  test("a function that starts late → it is called again until it answers", async () => {
    let isStarting = true;
    scene.platform.faults = {
      "POST /functions/v1/keyframe-deliver": async () => {
        const answer = isStarting ? new Response("starting", { status: 503 }) : undefined;
        isStarting = false;
        return answer;
      },
    };
    await scene.take([healthStage], {}, { clock: impatient });
    expect(isStarting).toBe(false);
  });

  test("a function that needs a token, and an outdated database → after a minute the last answers, and where to look", async () => {
    scene.platform.faults = { "POST /functions/v1/keyframe-deliver": { status: 401, body: { code: 401 } } };
    await scene.sql`update keyframe_private.installation set version = '0.0.1'`;
    try {
      await expect(scene.take([healthStage])).rejects.toThrow(
        /api: HTTP 503 .*schema_outdated.*; keyframe-deliver: HTTP 401 .*→ api → Logs/,
      );
    } finally {
      await scene.sql`update keyframe_private.installation set version = ${SCHEMA_VERSION}`;
    }
  });

  test("functions that do not answer → no request waits longer than ten seconds", async () => {
    const limits: number[] = [];
    const timeout = (ms: number) => {
      limits.push(ms);
      return AbortSignal.abort();
    };
    const taking = scene.take([healthStage], {}, { clock: { timeout } });
    await expect(taking).rejects.toThrow("keyframe-generate: no answer within 10 s");
    expect(Math.max(...limits)).toBe(10_000);
  });

  test("a function that dies at its start of a secret set elsewhere → that function, and its answer", async () => {
    scene.platform.secrets.set("KEYFRAME_REPLICATE_OUTPUT_HOSTS", "https://user@/x");
    await expect(scene.take([healthStage])).rejects.toThrow(
      /answers correctly\. keyframe-generate: HTTP 503 .*BOOT_ERROR[^;]*$/,
    );
  });

  test("functions with another kick secret than the Vault's → healthy by themselves, but the kicks do not arrive", async () => {
    scene.platform.secrets.set("KEYFRAME_KICK_SECRET", `whsec_${btoa("another secret of thirty-two byte")}`);
    // One that still runs with the former secret would ask for work.
    await until("the workers have ended", async () => {
      const { count } =
        await scene.sql`select from keyframe_private.heartbeats where alive_until > now() - interval '5 seconds'`;
      return count === 0;
    });
    await scene.sql`delete from net._http_response`;
    let now = 0;
    const sleep = async () => {
      await until("both kicks are refused", async () => {
        const refused = await scene.sql`select from net._http_response where status_code = 401`;
        return refused.length >= 2;
      });
      now += 60_000;
    };
    await expect(scene.take([healthStage], {}, { clock: { now: () => now, sleep } })).rejects.toThrow(
      "kicks from the database do not reach keyframe-generate (no claim of work since), keyframe-deliver",
    );
  });

  test.each<[string, (set: boolean) => Promise<unknown>, string]>([
    [
      "a migration that was edited after it was applied",
      (set) => scene.sql`
        update supabase_migrations.schema_migrations
        set statements = case when ${set} then statements || '{select 1}' else trim_array(statements, 1) end
        where version = '20261122000100'`,
      "was made by migrations that differ from this checkout's (20261122000100_keyframe_0_1_0.sql)",
    ],
    [
      "a database ahead of the checkout",
      (set) =>
        set
          ? scene.sql`insert into keyframe_private.installation (version) values ('0.10.0')`
          : scene.sql`delete from keyframe_private.installation where version = '0.10.0'`,
      "has migrations that this checkout lacks (keyframe_0_10_0)",
    ],
    [
      "a database that has Keyframe by add",
      (set) =>
        set
          ? scene.sql`insert into supabase_migrations.schema_migrations (version, name) values ('20270101000000', 'keyframe_0_1_0')`
          : scene.sql`delete from supabase_migrations.schema_migrations where version = '20270101000000'`,
      "by an app's repository (npm run add): upgrade it there",
    ],
  ])("deploy with %s → refused, nothing changed", async (_what, set, said) => {
    await set(true);
    try {
      await expect(scene.take([databaseStage])).rejects.toThrow(said);
      expect(scene.platform.takeWrites()).toEqual([]);
    } finally {
      await set(false);
    }
  });
});

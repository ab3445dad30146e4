import { mkdtemp, rename, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { freePort } from "../../local/network.ts";
import { removePostgresData } from "../../local/postgres/server-user.ts";
import { startPostgres } from "../../local/postgres/start-postgres.ts";
import { type RunningSimulator, startSimulator } from "../../local/simulator/start-simulator.ts";
import { removeData } from "../../local/stack/data-folder.ts";
import { FUNCTION_NAMES } from "../../local/stack/function-arguments.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { type Stack, startStack } from "../../local/stack/start-stack.ts";
import type { Prediction } from "../../shared/contract/predictions.ts";
import { project } from "../../shared/contract/projects.ts";
import { asAdministrator, readRecipes } from "../support/database/admin-recipes.ts";
import { onServer } from "../../local/postgres/on-server.ts";
import { type FilmMaker, newFilmMaker } from "../support/film/film-maker.ts";
import { answers } from "../support/receiver/habits.ts";
import { type FlowReceiver, startFlowReceiver } from "../support/receiver/receiver.ts";
import { register } from "../support/receiver/register.ts";
import { loggedBy } from "../support/stack/logs.ts";
import { setQuickIntervals } from "../support/stack/quick-settings.ts";
import { DeployPlatform, PROJECT } from "../support/tools/deploy-platform.ts";
import { logIn } from "../support/tools/deploy-scene.ts";
import { copyOf, initApp } from "../support/tools/install-apps.ts";
import { type Checkout, makeVersions } from "../support/tools/next-version.ts";
import { runProgram } from "../support/tools/run-command.ts";
import { until } from "../support/until.ts";

// This version as it will be released, and a next one made of it. Real: Postgres, the Supabase CLI, the functions of both versions. A
// simulator of the test's own is the provider, so it outlives the stack. What `npm run schema` refuses: version-migration.test.ts.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

let parent: string;
let old: Checkout;
let next: Checkout;
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), "keyframe-upgrade-"));
  await Deno.chmod(parent, 0o755); // the user that Postgres runs as reads it
  ({ old, next } = await makeVersions(parent));
});
afterAll(() => rm(parent, { recursive: true }));

let dataDir: string;
/** A link to the folder whose functions run. */
let running: string;
let port: number;
let stack: Stack;
let simulator: RunningSimulator;
let receiver: FlowReceiver;
/** Starts the stack with the functions of a folder; `replaceFunctions` changes them. */
async function startWith(folder: string): Promise<void> {
  await pointTo(folder);
  stack = await startStack({
    dataDir,
    port,
    durable: false,
    project: running,
    provider: {
      KEYFRAME_REPLICATE_API_TOKEN: simulator.token,
      KEYFRAME_REPLICATE_API_BASE_URL: simulator.apiUrl,
      KEYFRAME_REPLICATE_OUTPUT_HOSTS: simulator.url,
      KEYFRAME_REPLICATE_WEBHOOK_SECRET: simulator.webhookSecret,
      KEYFRAME_PUBLIC_URL: `http://127.0.0.1:${port}`,
    },
  });
  await letLeasesRunOut();
}

/** As if the time had passed that workers, which a deployment or a stop has ended, had for their tasks. */
const letLeasesRunOut = () =>
  query(
    (sql) =>
      sql`update keyframe_private.work set due_at = now() - interval '1 second' where state = 'leased' and queue <> 'deliver'`,
  );

async function pointTo(folder: string): Promise<void> {
  await rm(running, { force: true });
  await symlink(folder, running);
}

/** Ends every function as a crash would, and lets those of a folder take their place, as a deployment of functions does. */
async function replaceFunctions(folder: string): Promise<void> {
  await pointTo(folder);
  const children = FUNCTION_NAMES.map((name) => stack.children.get(name));
  const before = children.map((child) => child?.pid);
  for (const child of children) child?.kill("SIGKILL");
  await until("the other functions serve", async () => {
    if (children.some((child, at) => child?.pid === undefined || child.pid === before[at])) return false;
    const asked = FUNCTION_NAMES.map((name) => fetch(stack.functionUrls[name] ?? "").then((it) => it.body?.cancel()));
    return (await Promise.allSettled(asked)).every(({ status }) => status === "fulfilled");
  });
  await letLeasesRunOut();
}

const query = <T>(work: Parameters<typeof onServer<T>>[1]) => onServer(stack.databaseUrl, work);

async function health(): Promise<{ status: number; version: string; code: string }> {
  const response = await fetch(`${stack.url}/functions/v1/api/health`);
  const { data, error } = await response.json();
  return { status: response.status, version: data?.schemaVersion, code: error?.code };
}

/** What the provider has run of a prediction, ended or not. */
const runsOf = (id: string) =>
  simulator.control.made().filter(({ webhook }) => webhook?.includes(`prediction=${id}`)).length;

/** The requests that the receiver got since `from`, of one type, each as `<webhook-id> <prediction or project>`. */
function eventsSince(from: number, type: string): string[] {
  return receiver.arrivals.slice(from).flatMap(({ id, body }) => {
    const event = JSON.parse(body);
    return event.type === type ? [`${id} ${event.data.predictionId ?? event.data.projectId}`] : [];
  });
}
const subjects = (events: string[]) => events.map((event) => event.split(" ")[1]).sort();

/** The ledger and the provider's bill of the runs that the database knows. */
async function bills() {
  const account = simulator.control.account();
  const ledger = await query(
    (sql) => sql<{ run: string; cost: number; state: string }[]>`
      select provider_prediction_id as run, cost_micros::int as cost, cost_state as state from keyframe_private.provider_submits
      where provider_prediction_id is not null order by id`,
  );
  const billed = ledger.map(({ run }) => account.find(({ id }) => id === run)?.micros);
  return {
    ledger: ledger.map(({ cost, state }) => [state, cost]),
    billed: billed.map((micros) => ["settled", micros]),
  };
}

const untilAllIsDelivered = () =>
  until("nothing is to be delivered", () =>
    query(async (sql) => (await sql`select from keyframe.webhook_deliveries where status = 'pending'`).count === 0),
  );

type Way = {
  /** The folders that have the functions. */
  from: string;
  to: string;
  /** Applies the migration, waits for `whileOld`, and deploys the functions of `to`. */
  upgrade(whileOld: () => Promise<void>): Promise<void>;
};

/**
 * Two runs under way at the provider, one that waits for a slot, and a delivery that is due: an upgrade finds these, with functions that go
 * on working while the database is newer than they are.
 */
async function upgradeWithWork(way: Way, beforeUpgrade: (maker: FilmMaker) => Promise<void>) {
  await startWith(way.from);
  // As the role of the migrations, whose job it is.
  await onServer(
    stack.migrationUrl,
    (sql) => sql`select cron.schedule('keyframe-sweep', '1 second', 'select keyframe_private.sweep()')`,
  );
  await query(async (sql) => {
    await setQuickIntervals(sql);
    await sql`
      update keyframe_private.settings
      set max_active_per_owner = 2, frame_deadline = '2 hours', webhook_retry_schedule = array_fill(interval '1 second', array[500]) where only_row`;
  });
  const maker = await newFilmMaker({ url: stack.url, publishableKey: stack.keys.publishableKey });
  await register(maker, receiver.url);
  const other = await maker.call(project, "POST", "/api/projects", { title: "Pier", textPrompt: "A pier" });
  const untilUnderWay = (made: Prediction) =>
    until("its run is under way", async () => (await maker.read(made)).startedAt !== null);
  const startsIn = async (seconds: number) => {
    simulator.control.delays({ start_ms: seconds * 1000 });
    return await maker.start("first-frame", { prompt: `A harbour, ${crypto.randomUUID()}` });
  };
  const early = await startsIn(600);
  await untilUnderWay(early);
  const late = await startsIn(1_500);
  await untilUnderWay(late);
  const waiting = await startsIn(0);
  await until("a delivery was tried", () => receiver.arrivals.length > 0);

  await beforeUpgrade(maker);
  let during = late;
  await way.upgrade(async () => {
    expect(await health()).toMatchObject({ status: 200, version: next.version });
    simulator.control.advance(700);
    for (const made of [early, waiting]) expect(await maker.untilEnded(made)).toMatchObject({ status: "succeeded" });
    during = await startsIn(900);
    await untilUnderWay(during);
    await maker.call(project, "POST", "/api/projects", { title: "Mole", textPrompt: "A mole" });
    await replaceFunctions(way.to);
  });
  expect(await health()).toMatchObject({ status: 200, version: next.version });
  const taken = receiver.arrivals.length;
  receiver.behave(answers(204));
  simulator.control.advance(1_200);
  const predictions = [early, late, waiting, during];
  for (const made of predictions) expect(await maker.untilEnded(made)).toMatchObject({ status: "succeeded" });
  const { projectId } = await maker.call(project, "POST", "/api/projects", { title: "Jetty", textPrompt: "A jetty" });
  const projects = await query((sql) => sql`select title, director from keyframe.projects order by created_at`);
  expect(projects.map(({ title, director }) => [title, director])).toEqual([
    ...["Harbour", "Pier", "Mole"].map((title) => [title, null]),
    ["Jetty", "Ada"],
  ]);

  await untilAllIsDelivered();
  const ids = predictions.map(({ predictionId }) => predictionId);
  expect(subjects(eventsSince(taken, "generation.succeeded"))).toEqual([...ids].sort());
  expect(subjects(eventsSince(taken, "project.created"))).toEqual(expect.arrayContaining([other.projectId, projectId]));
  expect(eventsSince(taken, "project.created")).toHaveLength(3);
  expect(ids.map(runsOf)).toEqual([1, 1, 1, 1]);
  const { ledger, billed } = await bills();
  expect(ledger).toEqual(billed);
  return { maker, early, late, waiting, during, taken };
}

/** Functions before their migration: refused, and nothing is lost. */
async function deployTooEarly({ from, to }: Pick<Way, "from" | "to">, maker: FilmMaker): Promise<void> {
  await replaceFunctions(to);
  expect(await health()).toMatchObject({ status: 503, code: "schema_outdated" });
  const refused = maker.call(project, "POST", "/api/projects", { title: "Quay", textPrompt: "A quay" });
  await expect(refused).rejects.toThrow("503 schema_outdated");
  await until("the worker says so", async () => {
    const lines = await loggedBy({ dataDir }, "keyframe-generate", "schema_outdated");
    return lines.length > 0;
  });
  await replaceFunctions(from);
  expect(await health()).toMatchObject({ status: 200, version: old.version });
}

describe("work under way", () => {
  beforeEach(async () => {
    dataDir = await mkdtemp(join(parent, "data-"));
    await Deno.chmod(dataDir, 0o755);
    running = join(dataDir, "running");
    port = freePort();
    simulator = await startSimulator({ imageWidth: 160 });
    receiver = await startFlowReceiver(answers(503));
  });
  afterEach(async () => {
    await stack?.stop();
    await receiver.close();
    await simulator.stop();
    await removeData(dataDir);
  });

  test("add of the next version, db push, then its functions → open runs and deliveries end once, paid once", async () => {
    const app = await initApp(parent, "app", {});
    expect(await app.install(["add"], old.folder)).toMatchObject({ code: 0 });
    const newer = await copyOf(app, "app-newer");
    expect(await newer.install(["add"], next.folder)).toMatchObject({ code: 0 });
    const way = { from: app.folder, to: newer.folder };
    const upgrade = async (whileOld: () => Promise<void>) => {
      const push = () => newer.supabase("db", "push", `--remote=${stack.migrationUrl}`, "--yes");
      // As a dump does.
      await query((sql) =>
        sql.begin(async (reading) => {
          await reading`select from keyframe.projects limit 1`;
          await expect(push()).rejects.toThrow("lock timeout");
        }),
      );
      expect(await health()).toMatchObject({ status: 200, version: old.version });
      await push();
      await whileOld();
    };
    await upgradeWithWork({ ...way, upgrade }, (maker) => deployTooEarly(way, maker));
  });

  test("deploy of the next version → the same; then a backup restored by docs/upgrade.md → nothing is paid again", async () => {
    const postgresDir = join(dataDir, "postgres");
    const backup = join(dataDir, "backup");
    const work = await upgradeWithWork({ from: old.folder, to: next.folder, upgrade: deployNext }, async () => {
      await stack.stop();
      expect((await new Deno.Command("cp", { args: ["-pPR", postgresDir, backup] }).output()).success).toBe(true);
      await startWith(old.folder);
    });

    // As docs/upgrade.md says: functions stopped, the database restored, what waits ended, the version of the backup deployed.
    const page = await Deno.readTextFile(join(PROJECT_ROOT, "docs/upgrade.md"));
    const [, stopped = ""] = /for name in (.+); do/.exec(page) ?? [];
    expect(stopped.split(" ").sort()).toEqual([...FUNCTION_NAMES].sort());
    await stack.stop();
    simulator.control.advance(3_000); // the output of the first that ended is an hour old, and gone
    await removePostgresData(postgresDir);
    await rename(backup, postgresDir);
    const restored = await startPostgres({ dataDir: postgresDir, durable: false });
    const recipe = (await readRecipes("upgrade")).find(({ title }) => title === "End what waits");
    await onServer(restored.url, (sql) => asAdministrator(sql, recipe?.sql ?? ""));
    await restored.stop();
    const before = receiver.arrivals.length;
    await startWith(old.folder);

    expect(await health()).toMatchObject({ status: 200, version: old.version });
    const { maker, early, late, waiting, during } = work;
    expect(await maker.untilEnded(late)).toMatchObject({ status: "succeeded" });
    for (const made of [early, waiting]) {
      expect(await maker.untilEnded(made)).toMatchObject({ status: "failed", error: { retryable: true } });
    }
    await expect(maker.read(during)).rejects.toThrow("404 not_found");
    await untilAllIsDelivered();
    const ids = [early, late, waiting, during].map(({ predictionId }) => predictionId);
    expect(ids.map(runsOf)).toEqual([1, 1, 1, 1]);
    const { ledger, billed } = await bills();
    expect([ledger.length, ledger]).toEqual([2, billed]);
    // What was due when the backup was made comes again under its identifier; what ended since, under another.
    const again = eventsSince(before, "project.created");
    expect(again).toHaveLength(1);
    expect(eventsSince(work.taken, "project.created").filter((event) => event === again[0])).toHaveLength(2);
    const ended = eventsSince(before, "generation.succeeded");
    expect(subjects(ended)).toEqual([late.predictionId]);
    expect(eventsSince(work.taken, "generation.succeeded").filter((event) => event === ended[0])).toHaveLength(1);
    expect(subjects(eventsSince(before, "generation.failed"))).toEqual(
      [early, waiting].map((made) => made.predictionId).sort(),
    );
    simulator.control.delays({ start_ms: 0 });
    const made = await maker.start("first-frame");
    expect(await maker.untilEnded(made)).toMatchObject({ status: "succeeded" });
  });
});

/** `npm run deploy` in the next version's checkout. Only the Management API is a stand-in; what it deploys runs in the stack. */
async function deployNext(whileOld: () => Promise<void>): Promise<void> {
  const platform = new DeployPlatform(stack.migrationUrl);
  platform.api.db_schema = "public,graphql_public,keyframe,keyframe_worker";
  platform.secrets = new Map([
    ["KEYFRAME_REPLICATE_API_TOKEN", simulator.token],
    ["KEYFRAME_REPLICATE_WEBHOOK_SECRET", simulator.webhookSecret],
    ["KEYFRAME_KICK_SECRET", stack.keys.kickSecret],
  ]);
  // The project's name in DNS.
  await query((sql) =>
    sql.unsafe(`
      create function public.resolve() returns trigger language plpgsql as $$ begin
        new.url := replace(new.url, 'https://${PROJECT}.supabase.co', '${stack.url}');
        return new;
      end $$;
      create trigger resolve before insert on net.http_request_queue for each row execute function public.resolve();
      select keyframe_private.set_address('https://${PROJECT}.supabase.co')`),
  );
  const activating = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<undefined>();
  platform.faults = {
    "PUT /functions": () => {
      activating.resolve();
      return goOn.promise;
    },
  };
  try {
    const env = {
      ...(await logIn(platform, dataDir)),
      SUPABASE_DB_URL: stack.migrationUrl,
      KEYFRAME_CLIENT_URL: stack.url,
    };
    const script = join(next.folder, "tools/deploy.ts");
    const command = runProgram(Deno.execPath(), ["run", "-A", script, "--project", PROJECT], env, next.folder);
    await Promise.race([activating.promise, command.ended]);
    expect(command.output()).toContain(next.migration);
    await whileOld();
    goOn.resolve(undefined);
    expect(await command.ended).toMatchObject({ code: 0, error: "" });
  } finally {
    goOn.resolve(undefined);
    await platform.stop();
  }
}

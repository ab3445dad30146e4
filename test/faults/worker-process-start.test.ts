import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../local/network.ts";
import { newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { cloneTemplate } from "../support/database/clone-database.ts";
import { forward } from "../support/forward.ts";
import { answers } from "../support/receiver/habits.ts";
import { startFlowReceiver } from "../support/receiver/receiver.ts";
import { insertProjects, register } from "../support/receiver/register.ts";
import { expectSoundDeliveries, isDelivered, untilStories } from "../support/receiver/story.ts";
import { type OwnStack, startOwnStack } from "../support/stack/own-stack.ts";
import { untilNobodyLooks } from "../support/stack/restarts.ts";
import {
  endAfterEach,
  signalFunctions,
  spawnWorkerProcess,
  startWorkerProcess,
} from "../support/stack/worker-process.ts";
import { until } from "../support/until.ts";

// What a process of `npm run worker` checks before it takes work. The functions stand still, so that work is there to take.
const LOGIN = `test_login_${crypto.randomUUID().slice(0, 8)}`;
let stack: OwnStack;
beforeAll(async () => {
  stack = await startOwnStack({ workers: "functions" });
  await stack.sql.unsafe(`create role ${LOGIN} login noinherit password 'geheim'`);
  await untilNobodyLooks(stack.sql);
  signalFunctions(stack, "SIGSTOP");
});
const ended = endAfterEach();
afterAll(async () => {
  signalFunctions(stack, "SIGCONT");
  await stack.sql.unsafe(`drop role ${LOGIN}`);
  await stack.stop();
});

const ofLogin = (change: Partial<URL>) => Object.assign(new URL(stack.databaseUrl), change).href;
const claimsOfProcesses = () =>
  stack.sql`select from keyframe_private.heartbeats where (report -> 'isProcess')::boolean`;

const WRONG: [string, () => Promise<Parameters<typeof spawnWorkerProcess>[1]>, RegExp][] = [
  [
    "a connection, and the secret key of another project",
    async () => ({ databaseUrl: stack.databaseUrl, secretKey: "sb_secret_of_another" }),
    /^SUPABASE_SECRET_KEYS: .* is not a secret key of the project at SUPABASE_URL\. /,
  ],
  [
    "the publishable key in place of the secret one",
    async () => ({ secretKey: stack.publishableKey }),
    /^SUPABASE_SECRET_KEYS: .* is not a secret key of the project at SUPABASE_URL\. /,
  ],
  [
    "a connection to the database of another project",
    async () => ({ databaseUrl: await cloneTemplate() }),
    /^SUPABASE_DB_URL and SUPABASE_URL belong to different projects\. /,
  ],
  [
    "a URL at which there is no Supabase",
    async () => ({ databaseUrl: stack.databaseUrl, url: stack.simulatorUrl }),
    /^SUPABASE_URL: the Data API answers 404\. /,
  ],
  [
    "a wrong password",
    async () => ({ databaseUrl: ofLogin({ username: LOGIN, password: "wrong" }) }),
    /^SUPABASE_DB_URL: .* user or password\. .* 28P01/,
  ],
  [
    "a database that Postgres does not have",
    async () => ({ databaseUrl: ofLogin({ pathname: "/nowhere" }) }),
    /^SUPABASE_DB_URL: .* no database of this name\. .*\(code 3D000/,
  ],
  [
    "a login that may not act as service_role",
    async () => ({ databaseUrl: ofLogin({ username: LOGIN, password: "geheim" }) }),
    /^SUPABASE_DB_URL: .* cannot act as service_role\. .* 42501/,
  ],
];
test.each(WRONG)(
  "%s → the worker process claims nothing, says what is wrong and what to do, and exits 1",
  async (_what, change, says) => {
    const process = ended(await spawnWorkerProcess(stack, await change()));
    expect(await process.ended).toBe(1);
    expect(process.lines.at(-1)).toMatch(says);
    expect(process.lines.join()).not.toMatch(/geheim|sb_secret|worker_started/);
    expect(await claimsOfProcesses()).toEqual([]);
  },
);

test("Postgres is away when a worker process starts → it waits and says so, health is 503; Postgres is back → it claims", async () => {
  const port = freePort();
  const process = ended(await spawnWorkerProcess(stack, { databaseUrl: ofLogin({ port: String(port) }) }));
  await until("it says twice what it waits for", () => process.lines.length >= 2);
  expect(JSON.parse(process.lines[1] ?? "")).toMatchObject({
    level: "warn",
    event: "worker_waits",
    setting: "SUPABASE_DB_URL",
    reason: expect.stringContaining("ECONNREFUSED"),
  });
  expect(await process.health()).toEqual({
    status: 503,
    body: { status: "unavailable", databaseAnsweredSeconds: { generate: null, deliver: null } },
  });
  expect(await claimsOfProcesses()).toEqual([]);
  using _postgres = forward(stack.databaseUrl, port);
  await until("it claims", async () => (await claimsOfProcesses()).length === 2);
  expect((await process.health()).status).toBe(200);
});

test("SIGTERM while a worker process waits for Postgres → exits 0", async () => {
  const process = ended(await spawnWorkerProcess(stack, { databaseUrl: ofLogin({ port: "9" }) }));
  await until("it waits", () => process.lines.length > 0);
  process.kill("SIGTERM");
  expect(await process.ended).toBe(0);
});

test.each([
  ["ten minutes ahead", 600_000],
  ["ten minutes behind", -600_000],
])("a worker process whose clock is %s → says so, and signs events with the database's time", async (_how, aheadMs) => {
  const process = ended(await startWorkerProcess(stack, { databaseUrl: stack.databaseUrl, aheadMs }));
  const [receiver, maker] = await Promise.all([startFlowReceiver(answers(200)), newFilmMaker(stack)]);
  const { webhookId } = await register(maker, receiver.url);
  await insertProjects(stack.sql, maker.userId, 1);
  await untilStories(stack.sql, webhookId, "its event is delivered", 1, isDelivered);
  await expectSoundDeliveries(stack.sql, webhookId, receiver);
  const [arrival] = receiver.arrivals;
  expect(Math.abs(Number(arrival?.headers["webhook-timestamp"]) - (arrival?.at ?? 0) / 1_000)).toBeLessThan(60);
  const [attempt] = await stack.sql<{ late: number }[]>`
    select extract(epoch from now() - started_at)::float8 as late from keyframe.webhook_attempts a
    join keyframe.webhook_deliveries d on d.id = a.delivery_id where d.endpoint_id = ${webhookId}`;
  expect(Math.abs(attempt?.late ?? Number.NaN)).toBeLessThan(60);
  const line = process.lines.map((text) => JSON.parse(text)).find(({ event }) => event === "clock_differs");
  expect(line).toMatchObject({ level: "warn", aheadSeconds: expect.closeTo(aheadMs / 1_000, -1) });
  await receiver.close();
  const made = await maker.start("first-frame", { prompt: promptWith() });
  expect(await maker.untilEnded(made)).toMatchObject({ status: "succeeded" });
});

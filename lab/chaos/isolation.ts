import { join } from "node:path";
import postgres from "postgres";
import { quantile } from "../bench/measure.ts";
import { addEndpoint } from "./endpoint-actions.ts";
import { measureHeldRows } from "./held-rows.ts";
import type { Verdict } from "./invariants/invariants.ts";
import { openWorld } from "./open-world.ts";
import { createRandom, type Random } from "./random.ts";
import { createProjects, SCENARIO_MS, SCENARIOS, type Scenario } from "./scenarios.ts";
import { newUser } from "./users.ts";
import { pause } from "../../shared/platform/pause.ts";
import type { User, World } from "./world.ts";

/** 95 of 100 events of a user who has nothing to do with a scenario arrive at most so much later than 95 of 100 just before it. */
const LATER_MS = 300;
/** Where they take longer with nobody else, the machine is busy and its figures say little: this is the bound then. */
const QUIET_P95_MS = 150;
const BUSY_P95_MS = 1_500;

const EVENT_EVERY_MS = 200;
const ALONE_MS = 10_000;
/** By when every event must have come: later than a lease of a frozen worker and a sweep. */
const ARRIVAL_MS = 30_000;

type Scene = { dataDir: string; seed: number; databaseUrl?: string | undefined; say(line: string): void };
export type Isolation = { verdicts: Verdict[]; figures: Record<string, number>; remarks: string[] };

/** What `--scenarios` may name. */
export const SCENARIO_NAMES = [...Object.keys(SCENARIOS), "held_rows"];

/**
 * Runs scenarios on a stack of its own, without other faults, and measures how long the events of a user who has nothing to do with
 * them take from their commit to their receiver. With a given server, on another database of that server.
 */
export async function measureIsolation(
  { dataDir, seed, databaseUrl, say }: Scene,
  names: readonly string[],
): Promise<Isolation> {
  const found: Isolation = { verdicts: [], figures: {}, remarks: [] };
  if (names.length === 0) return found;
  const own = databaseUrl === undefined ? undefined : await createDatabase(databaseUrl);
  const opened = await openWorld({ dataDir: join(dataDir, "isolation"), databaseUrl: own?.url }).catch(
    async (error) => {
      await own?.drop();
      throw error;
    },
  );
  const { world } = opened;
  const remark = (line: string) => {
    say(line);
    found.remarks.push(line);
  };
  try {
    const [jit] = await world.sql<{ available: boolean; setting: string }[]>`
      select pg_jit_available() as available, current_setting('jit') as setting`;
    if (jit?.available !== true || jit.setting !== "on")
      remark(
        "The scenarios ran without JIT: this server cannot compile, or has jit = off. KEYFRAME_DATABASE_URL can name one that does.",
      );
    else remark("The scenarios ran with jit = on.");
    await world.sql`update keyframe_private.rate_limits set capacity = capacity * 100, per_second = per_second * 100`;
    for (const [name, scenario] of Object.entries(SCENARIOS)) {
      if (!names.includes(name)) continue;
      const { alone, delays } = await measure(world, scenario, seed);
      const p95Alone = Math.round(quantile(alone, 0.95));
      const p95 = Math.round(quantile(delays, 0.95));
      const { sentence } = scenario;
      const isBusy = scenario.p95Ms === undefined && p95Alone > QUIET_P95_MS;
      const bound = scenario.p95Ms ?? (isBusy ? BUSY_P95_MS : p95Alone + LATER_MS);
      if (isBusy)
        remark(
          `${name}: THE MACHINE WAS BUSY. With nobody else the p95 was ${p95Alone} ms already, so ${bound} ms was the bound.`,
        );
      say(
        `${sentence}: an innocent user's p95 is ${p95} ms, ${p95Alone} ms with nobody else; the slowest ${delays.at(-1)} ms, of ${delays.length} events`,
      );
      found.figures[`innocent user's p95 in ms: ${sentence}`] = p95;
      found.figures[`the same with nobody else, before ${name}`] = p95Alone;
      found.verdicts.push({
        name: `isolation_${name}`,
        sentence: `with ${sentence}, another user's events arrive within ${bound} ms (p95)`,
        broken:
          p95 < bound ? [] : [`the p95 of ${delays.length} events is ${p95} ms, the slowest took ${delays.at(-1)} ms`],
      });
    }
    if (names.includes("held_rows")) {
      const { verdict, figures } = await measureHeldRows(world, seed, say);
      found.verdicts.push(verdict);
      Object.assign(found.figures, figures);
    }
    return found;
  } finally {
    await opened.close();
    await own?.drop();
  }
}

/** Another database of a server. */
async function createDatabase(databaseUrl: string): Promise<{ url: string; drop(): Promise<unknown> }> {
  const name = `isolation_${crypto.randomUUID().slice(0, 8)}`;
  const on = async (work: (sql: postgres.Sql) => Promise<unknown>) => {
    const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
    await work(sql).finally(() => sql.end({ timeout: 1 }));
  };
  await on((sql) => sql.unsafe(`create database ${name}`));
  const url = Object.assign(new URL(databaseUrl), { pathname: `/${name}` });
  return { url: url.href, drop: () => on((sql) => sql.unsafe(`drop database ${name} with (force)`)) };
}

/**
 * The delays of the innocent user's events in ms, the shortest first, with nobody else and then during the scenario. The scenario's accounts
 * are deleted at its end.
 */
async function measure(
  world: World,
  { accounts, endpoints, behaviour, run }: Scenario,
  seed: number,
): Promise<{ alone: number[]; delays: number[] }> {
  const { sql, receivers, users } = world;
  const sign = async () => {
    const user = await newUser(world, seed, users.length);
    users.push(user);
    return user;
  };
  const innocent = await sign();
  await addEndpoint(innocent, world, "steady");
  const others: User[] = [];
  for (let i = 0; i < accounts; i++) {
    const account = await sign();
    for (let j = 0; j < endpoints; j++) await addEndpoint(account, world, "steady");
    for (const { hook } of account.endpoints) receivers.setBehaviour(hook, behaviour);
    others.push(account);
  }
  const random = createRandom(`isolation ${seed}`);
  const alone = await sendEvents(world, innocent, random, AbortSignal.timeout(ALONE_MS));
  const over = AbortSignal.timeout(SCENARIO_MS);
  const [delays] = await Promise.all([
    sendEvents(world, innocent, random, over),
    run({ world, accounts: others }, over),
  ]);
  receivers.reset();
  await sql`delete from auth.users where email like 'slow-%'`;
  for (const { userId } of [innocent, ...others]) await sql`delete from auth.users where id = ${userId}`;
  return { alone, delays };
}

async function sendEvents(world: World, { userId }: User, random: Random, over: AbortSignal): Promise<number[]> {
  const sent = new Map<string, number>();
  const arrived = new Map<string, number>();
  world.receivers.onProject = (projectId) => void (arrived.has(projectId) || arrived.set(projectId, performance.now()));
  while (!over.aborted) {
    const began = performance.now();
    for (const id of await createProjects(world, userId, 1)) sent.set(id, began);
    await pause(EVENT_EVERY_MS * (0.5 + random.number()));
  }
  const end = performance.now() + ARRIVAL_MS;
  while (performance.now() < end && [...sent.keys()].some((id) => !arrived.has(id))) await pause(50);
  const delays = [...sent].map(([id, began]) => Math.round((arrived.get(id) ?? performance.now()) - began));
  return delays.toSorted((a, b) => a - b);
}

import { pause } from "../../../shared/platform/retry.ts";
import type { Aim, BenchContext, Benchmark, Result } from "../benchmark.ts";
import { openFrames as makeFrames } from "../flow-benchmark.ts";
import { runLoad } from "../load.ts";
import { measureInTurn, quantile, ratioOf, waitUntil } from "../measure.ts";
import { type Cpu, CpuMeter } from "../process-usage.ts";
import { startFrame } from "../requests.ts";
import type { BenchStack } from "../stack.ts";
import { type Lab, THIS_LAB } from "./open-version.ts";

// biome-ignore format: a line for frames, one for events, and one for other owners
const FULL = {
  rounds: 5, warmUps: 3, ones: 15, tens: 3, starts: 40,
  warmUpEvents: 2_000, events: 10_000, eventsBeside: 1_000, inARow: 200,
  manyOwners: 10_000, slowOwners: 600, ofOneOwner: 100_000,
};
// biome-ignore format: as above
const QUICK: typeof FULL = {
  rounds: 1, warmUps: 1, ones: 3, tens: 1, starts: 10,
  warmUpEvents: 500, events: 1_000, eventsBeside: 500, inARow: 50,
  manyOwners: 200, slowOwners: 60, ofOneOwner: 1_000,
};
/** A version measured against itself stayed below this, except for brief spikes. */
const MAX_RATIO = 1.1;

/** A version to measure. `ends` are called when all is measured. */
type Version = { lab: Lab; stack: BenchStack; size: typeof FULL; ends: (() => void)[] };
/** What a round has measured, by name. Less is better. */
type Figures = Record<string, number>;
/** Prepares a version, and returns the function that measures a round. */
type Part = (version: Version) => Promise<() => Promise<Figures>>;

const PARTS: Record<string, Part> = {
  frames: (version) => openFrames(version, false),
  "several-starts": openSeveralStarts,
  events: (version) => openEvents(version, version.size.events),
  "beside-retries": async (version) => {
    const answer = { status: 503, headers: { "retry-after": "86400" } };
    const { sql } = version.stack;
    const isTried = async () =>
      (await sql`select from keyframe.webhook_deliveries where attempts = 0 limit 1`).length === 0;
    return await openEvents(version, version.size.eventsBeside, async () => {
      await addEvents(version, version.size.manyOwners, 1, () => new Response(null, answer));
      await waitUntil(isTried, { what: "each event waits for its retry", everyMs: 500, timeoutMs: 600_000 });
    });
  },
  "beside-slow-host": (version) =>
    openEvents(version, version.size.eventsBeside, () => addEvents(version, version.size.slowOwners, 20, hang)),
  "beside-flood": (version) =>
    openEvents(version, version.size.eventsBeside, () => addEvents(version, 1, version.size.ofOneOwner, hang)),
  "beside-polls": async (version) => {
    await addRuns(version);
    return await openFrames(version, true);
  },
};
export const PART_NAMES = Object.keys(PARTS);

/** The benchmarks that compare this checkout with another version. Each has two stacks of its own. */
export const compareWith = (other: Lab): Benchmark[] =>
  Object.entries(PARTS).map(([name, part]) => ({ name, run: (context) => measurePart(part, other, context) }));

async function measurePart(part: Part, other: Lab, { quick, openStack, progress }: BenchContext): Promise<Result> {
  const size = quick ? QUICK : FULL;
  const ends: (() => void)[] = [];
  const open = async (lab: Lab) => part({ lab, stack: await openStack(lab.openBenchStack), size, ends });
  try {
    progress("prepares both versions");
    const [here, there] = await Promise.all([open(THIS_LAB), open(other)]);
    const rounds = await measureInTurn({ here, there }, size.rounds, progress);
    const valuesOf = (name: string, of: Figures[]) => of.map((figures) => figures[name] ?? Number.NaN);
    const aims = Object.keys(rounds.here[0] ?? {}).map((name): Aim => {
      return { name, value: ratioOf(valuesOf(name, rounds.here), valuesOf(name, rounds.there)), atMost: MAX_RATIO };
    });
    return { aims, tables: [] };
  } finally {
    for (const end of ends) end();
  }
}

/** Of Postgres and all functions; with or without the benchmark's own statements. */
function meterOf({ stack }: Version, countsOwn = false): CpuMeter {
  const pids = Object.keys(stack.functionUrls).flatMap((name) => stack.children.get(name)?.pid ?? []);
  return new CpuMeter(stack.sql, pids, countsOwn);
}

/** None off Linux. */
const cpu = (name: string, { cost }: CpuMeter, of: (cost: Cpu) => number = ({ postgres }) => postgres): Figures =>
  cost ? { [`${name}, ms of processor time`]: of(cost) } : {};

/** So that plans are not those of empty tables, and autovacuum has nothing to do meanwhile. */
const analyze = ({ sql }: BenchStack) => sql`vacuum (analyze)`;

async function openFrames(version: Version, areOthersActive: boolean) {
  const { lab, stack, size } = version;
  const users = await lab.makeUsers(stack, 10);
  const make = makeFrames(stack, users, areOthersActive);
  const each = async (atOnce: number, times: number) => {
    const took: number[] = [];
    while (took.length < times) took.push(await make(atOnce));
    return took;
  };
  await each(users.length, size.warmUps);
  await analyze(stack);
  await make(users.length);
  return async () => {
    await make(1); // wakes the functions
    const [one, ten] = [meterOf(version), meterOf(version)];
    const took = await one.during(size.ones, () => each(1, size.ones));
    await ten.during(size.tens * users.length, () => each(users.length, size.tens));
    return {
      "one frame: ms": quantile(took, 0.5),
      ...cpu("one frame: Postgres", one),
      ...cpu("one frame: functions", one, ({ functions }) => functions),
      ...cpu("one of ten frames at once: Postgres", ten),
      ...cpu("one of ten frames at once: functions", ten, ({ functions }) => functions),
    };
  };
}

/** Starts only, one of each user: without the scheduler nobody kicks generate or sweeps. */
async function openSeveralStarts(version: Version) {
  const { lab, stack, size, ends } = version;
  const scheduler = stack.children.get("scheduler");
  scheduler?.kill("SIGSTOP");
  ends.push(() => scheduler?.kill("SIGCONT"));
  const api = `${stack.functionUrls.api}/api`;
  const startEach = async () => {
    const figures: Figures = {};
    for (const takes of [1, 4, 8]) {
      const users = await lab.makeUsers(stack, size.starts);
      const requests = users.map((user) => startFrame(api, user, user.projectId, takes));
      const meter = meterOf(version);
      await meter.during(users.length, () => runLoad({ requests, clients: 1, count: users.length }));
      Object.assign(figures, cpu(`a start with count ${takes}: Postgres`, meter));
    }
    return figures;
  };
  for (let warmUp = 0; warmUp < size.warmUps; warmUp++) await startEach();
  await analyze(stack);
  await startEach();
  return startEach;
}

/** Events of twenty users, beside what `addOthers` adds. */
async function openEvents(version: Version, events: number, addOthers: () => Promise<void> = async () => undefined) {
  const { lab, stack, size, ends } = version;
  const scene = await lab.openScene(stack);
  ends.push(() => void scene.receiver.close());
  const way = { ...lab.keyframeWay(scene), attempts: null }; // those of the others would be counted too
  await lab.runBurst(scene, way, size.warmUpEvents);
  await addOthers();
  await analyze(stack);
  return () =>
    lab.inTurn(way, async () => {
      const [all, workers, row] = [meterOf(version, true), meterOf(version), meterOf(version)];
      const ms = await all.during(events, () => workers.during(events, () => lab.runBurst(scene, way, events)));
      const inARow: number[] = [];
      await row.during(size.inARow, async () => {
        while (inARow.length < size.inARow) {
          await pause(Math.random() * 20);
          inARow.push(await lab.sendOne(scene, way));
        }
      });
      return {
        [`${events.toLocaleString("en-US")} events at once: ms`]: ms,
        ...cpu("one of them: Postgres and functions", all, ({ postgres, functions }) => postgres + functions),
        ...cpu("one of them: claims and results in Postgres", workers),
        "one event in a row: ms (p50)": quantile(inARow, 0.5),
        ...cpu("one event in a row: claims and results in Postgres", row),
      };
    });
}

const hang = () => new Promise<Response>(() => undefined);

/** New users with an endpoint each at another host than that of the measured events, and events of each. */
async function addEvents(
  { stack, ends }: Version,
  owners: number,
  each: number,
  answer: () => Response | Promise<Response>,
) {
  const { sql } = stack;
  const over = new AbortController();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, signal: over.signal, onListen: () => undefined }, answer);
  ends.push(() => over.abort());
  await sql`
    with users as (${addUsers(sql, owners)})
    insert into keyframe.webhook_endpoints (owner_id, url) select id, ${`http://localhost:${server.addr.port}/`} from users`;
  await sql`
    insert into keyframe.projects (owner_id, title, text_prompt)
    select owner_id, 'Backlog', 'p' from keyframe.webhook_endpoints, generate_series(1, ${each}::int) where url like 'http://localhost:%'`;
}

/** The provider has ended these runs, and sends no callback: each waits for its poll, a day later. */
async function addRuns({ stack, size }: Version) {
  const { sql } = stack;
  await sql`update keyframe_private.settings set poll_interval = '1 day', frame_deadline = '2 days'`;
  for (let owners = 0; owners < size.manyOwners; owners += 100) {
    const projects = await sql<{ id: string }[]>`
      with users as (${addUsers(sql, 100)})
      insert into keyframe.projects (owner_id, title, text_prompt) select id, 'Waits', 'p' from users returning id`;
    const predictions = projects.map(({ id }) => ({
      project_id: id,
      step: "first-frame",
      input: { prompt: `[[fault:failed]] [[fault:callback_lost]] ${id}` },
    }));
    await sql`insert into keyframe.predictions ${sql(predictions)}`;
  }
  const isSubmitted = async () =>
    (await sql`select from keyframe.predictions where status = 'queued' limit 1`).length === 0;
  await waitUntil(isSubmitted, { what: "all runs are submitted", everyMs: 500, timeoutMs: 1_200_000 });
}

const addUsers = (sql: BenchStack["sql"], count: number) => sql`
  insert into auth.users (id, email) select gen_random_uuid(), gen_random_uuid() || '@keyframe.local'
  from generate_series(1, ${count}::int) returning id`;

import { FUNCTION_NAMES } from "../../local/stack/function-arguments.ts";
import type { Aim, BenchContext, Benchmark, Result } from "./benchmark.ts";
import { type LoadRequest, runLoad } from "./load.ts";
import { measureInTurn, ratioOf, spreadOf, waitUntil } from "./measure.ts";
import { openDbos } from "./open-dbos.ts";
import { type Cpu, CpuMeter } from "./process-usage.ts";
import { startFrame, storeDbosFrame, storeWrittenFrame } from "./requests.ts";
import type { BenchStack } from "./stack.ts";
import { type BenchUser, makeUsers } from "./users.ts";
import { openWritten } from "./written/open-written.ts";

const FULL = { atOnce: 50, warmUps: 3, ones: 15, manies: 5 };
const QUICK = { atOnce: 6, warmUps: 1, ones: 1, manies: 1 };
/** Frequent polls for one frame; fewer for many, so that polling costs less than the work. */
const POLL_MS = { one: 3, many: 20 };

export const flowBenchmark: Benchmark = { name: "flow", run: measureFlow };

/** Makes and stores so many first frames at once, each of another user; returns ms until the last is stored. */
type Make = (atOnce: number) => Promise<number>;

/** `one`: one frame, right after another. */
type Way = { make: Make; one: () => Promise<number>; meter: CpuMeter };
type Each<Value> = { ours: Value; dbos: Value; written: Value };
type Size = typeof FULL;

const ofEach = <Value>(ways: Each<Way>, value: (way: Way) => Value): Each<Value> => ({
  ours: value(ways.ours),
  dbos: value(ways.dbos),
  written: value(ways.written),
});

async function measureFlow({ quick, openStack, progress }: BenchContext): Promise<Result> {
  const size = quick ? QUICK : FULL;
  const stack = await openStack();
  const users = await makeUsers(stack, size.atOnce);
  const written = await openWritten(stack);
  const dbos = await openDbos(stack).catch(async (error: unknown) => {
    await written.stop();
    throw error;
  });
  try {
    const elsewhere = (pid: number, request: (user: BenchUser) => LoadRequest): Way => {
      const make: Make = async (count) =>
        (await runLoad({ requests: users.slice(0, count).map(request), clients: count, count })).took;
      return { make, one: () => make(1), meter: new CpuMeter(stack.sql, [pid], false) };
    };
    return await compareWays(size, progress, {
      ours: openKeyframe(stack, users),
      dbos: elsewhere(dbos.pid, (user) => storeDbosFrame(dbos.url, user, user.projectId)),
      written: elsewhere(written.pid, (user) => storeWrittenFrame(written.url, user, user.projectId)),
    });
  } finally {
    await Promise.all([written.stop(), dbos.stop()]);
  }
}

function openKeyframe(stack: BenchStack, users: BenchUser[]): Way {
  const make = openFrames(stack, users);
  const one = async () => {
    await make(1); // wakes it
    return await make(1);
  };
  const pids = FUNCTION_NAMES.flatMap((name) => stack.children.get(name)?.pid ?? []);
  return { make, one, meter: new CpuMeter(stack.sql, pids, false) };
}

async function compareWays(
  { atOnce, warmUps, ones, manies }: Size,
  progress: BenchContext["progress"],
  ways: Each<Way>,
): Promise<Result> {
  // Until each of the gateway's connections has planned each statement.
  for (let round = 0; round < warmUps; round++) for (const { make } of Object.values(ways)) await make(atOnce);
  const one = await measureInTurn(
    ofEach(ways, (way) => way.one),
    ones,
    (text) => progress(`one, ${text}`),
  );
  const perSecond = async (make: Make) => (atOnce / (await make(atOnce))) * 1000;
  const many = await measureInTurn(
    ofEach(
      ways,
      ({ make, meter }) =>
        () =>
          meter.during(atOnce, () => perSecond(make)),
    ),
    manies,
    (text) => progress(`${atOnce} at once, ${text}`),
  );
  const { cost } = ways.ours.meter;
  return {
    aims: listAims(atOnce, one, many, ways),
    costs: cost ? [{ name: "a first frame, from start to stored", ...cost }] : [],
    figures: cost ? { frameMs: cost.postgres } : {},
  };
}

type Measured = Each<number[]>;

function listAims(atOnce: number, one: Measured, many: Measured, ways: Each<Way>): Aim[] {
  const toDbos = ({ ours, dbos }: Measured) => ratioOf(ours, dbos);
  const toWritten = ({ ours, written }: Measured) => ratioOf(ours, written);
  const aims: Aim[] = [
    { name: "one, right after another: ms ÷ DBOS'", value: toDbos(one), atMost: 1.2 },
    { name: "one, right after another: ms ÷ the written function's", value: toWritten(one), atMost: 1.5 },
    { name: `${atOnce} at once: per second ÷ DBOS'`, value: toDbos(many), atLeast: 1 },
    { name: `${atOnce} at once: per second ÷ the written function's`, value: toWritten(many), atLeast: 0.9 },
  ];
  if (ways.ours.meter.cost === null) return aims;
  const cpu = (of: keyof Cpu) => ofEach(ways, ({ meter }) => meter.rounds.map((round) => round[of]));
  const [postgres, functions] = [cpu("postgres"), cpu("functions")];
  const time = "processor time of";
  return [
    ...aims,
    { name: `${time} Postgres for one: ms ÷ DBOS'`, value: toDbos(postgres), atMost: 0.9 },
    { name: `${time} Postgres for one, ms`, value: spreadOf(postgres.ours), atMost: 10 },
    { name: `${time} the functions for one: ms ÷ DBOS' process`, value: toDbos(functions), atMost: 1 },
  ];
}

/**
 * Through the API, each frame in the project of another user. Polls the table, which costs less than the API: mostly an entry of a small
 * index, since each poll takes a processor from what is measured. `areOthersActive`: other users' predictions run all the time.
 */
export function openFrames({ sql, functionUrls }: BenchStack, users: BenchUser[], areOthersActive = false): Make {
  const projects = users.map(({ projectId }) => projectId);
  const active = areOthersActive ? sql`project_id in ${sql(projects)}` : sql`admitted_at is not null`;
  let started = 0;
  return async (atOnce) => {
    const requests = Array.from({ length: atOnce }, () => {
      const user = users[started++ % users.length] as BenchUser; // the index is below the number of users
      return startFrame(`${functionUrls.api}/api`, user, user.projectId);
    });
    const began = performance.now();
    const load = runLoad({ requests, clients: atOnce, count: atOnce });
    const stored = async () => {
      const running = await sql`select from keyframe.predictions where ${active} and completed_at is null limit 1`;
      if (running.length > 0) return false;
      const [row] = await sql<{ lost: number; stored: number }[]>`
        select count(*) filter (where status in ('failed', 'canceled'))::int as lost,
          count(*) filter (where status = 'succeeded')::int as stored
        from keyframe.predictions where project_id in ${sql(projects)}`;
      if (row?.lost) throw new Error(`${row.lost} first frames have failed.`);
      return row?.stored === started;
    };
    const everyMs = atOnce === 1 ? POLL_MS.one : POLL_MS.many;
    await waitUntil(stored, { what: `${atOnce} first frames are stored`, everyMs });
    const took = performance.now() - began;
    await load;
    return took;
  };
}

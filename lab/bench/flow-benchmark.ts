import { FUNCTION_NAMES } from "../../local/stack/function-arguments.ts";
import { pause } from "../../shared/platform/retry.ts";
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
/** After this the workers have ended and pg_net sends at once. */
const QUIET_MS = 4_000;

export const flowBenchmark: Benchmark = { name: "flow", run: measureFlow };

/** Makes and stores so many first frames at once, each of another user; returns ms until the last is stored. */
type Make = (atOnce: number) => Promise<number>;

async function measureFlow({ quick, openStack, progress }: BenchContext): Promise<Result> {
  const { atOnce, warmUps, ones, manies } = quick ? QUICK : FULL;
  const stack = await openStack();
  const users = await makeUsers(stack, atOnce);
  const written = await openWritten(stack);
  const dbos = await openDbos(stack).catch(async (error: unknown) => {
    await written.stop();
    throw error;
  });
  try {
    const make = openFrames(stack, users);
    const makeElsewhere =
      (request: (user: BenchUser) => LoadRequest): Make =>
      async (count) =>
        (await runLoad({ requests: users.slice(0, count).map(request), clients: count, count })).took;
    const makeWritten = makeElsewhere((user) => storeWrittenFrame(written.url, user, user.projectId));
    const makeDbos = makeElsewhere((user) => storeDbosFrame(dbos.url, user, user.projectId));
    // Until each of the gateway's connections has planned each statement.
    for (let round = 0; round < warmUps; round++) for (const each of [make, makeDbos, makeWritten]) await each(atOnce);
    const awake = async () => {
      await make(1);
      return await make(1);
    };
    const one = await measureInTurn(
      { ours: awake, dbos: () => makeDbos(1), written: () => makeWritten(1) },
      ones,
      (text) => progress(`one, ${text}`),
    );
    const woken: number[] = [];
    for (let time = 0; time < Math.ceil(ones / 3); time++) {
      await pause(QUIET_MS);
      woken.push(await make(1));
    }
    const pids = FUNCTION_NAMES.flatMap((name) => stack.children.get(name)?.pid ?? []);
    const meter = (pids: number[]) => new CpuMeter(stack.sql, pids, false);
    const meters = { ours: meter(pids), dbos: meter([dbos.pid]), written: meter([written.pid]) };
    const perSecond = async (make: Make) => (atOnce / (await make(atOnce))) * 1000;
    const many = await measureInTurn(
      {
        ours: () => meters.ours.during(atOnce, () => perSecond(make)),
        dbos: () => meters.dbos.during(atOnce, () => perSecond(makeDbos)),
        written: () => meters.written.during(atOnce, () => perSecond(makeWritten)),
      },
      manies,
      (text) => progress(`${atOnce} at once, ${text}`),
    );
    const aims: Aim[] = [
      { name: "one, right after another: ms ÷ DBOS'", value: ratioOf(one.ours, one.dbos), atMost: 1.2 },
      {
        name: "one, right after another: ms ÷ the written function's",
        value: ratioOf(one.ours, one.written),
        atMost: 1.5,
      },
      { name: `${atOnce} at once: per second ÷ DBOS'`, value: ratioOf(many.ours, many.dbos), atLeast: 1 },
      {
        name: `${atOnce} at once: per second ÷ the written function's`,
        value: ratioOf(many.ours, many.written),
        atLeast: 0.9,
      },
    ];
    const { cost } = meters.ours;
    const cpu = (whose: keyof typeof meters, of: keyof Cpu) => meters[whose].rounds.map((round) => round[of]);
    if (cost)
      aims.push(
        {
          name: "processor time of Postgres for one: ms ÷ DBOS'",
          value: ratioOf(cpu("ours", "postgres"), cpu("dbos", "postgres")),
          atMost: 0.9,
        },
        { name: "processor time of Postgres for one, ms", value: spreadOf(cpu("ours", "postgres")), atMost: 10 },
        {
          name: "processor time of the functions for one: ms ÷ DBOS' process",
          value: ratioOf(cpu("ours", "functions"), cpu("dbos", "functions")),
          atMost: 1,
        },
      );
    const row = (name: string, whose: keyof typeof meters, quiet: number[]) => {
      const { cost } = meters[whose];
      const wokenMs = quiet.length > 0 ? spreadOf(quiet) : null;
      const cells = [
        spreadOf(one[whose]),
        wokenMs,
        spreadOf(many[whose]),
        cost?.postgres ?? null,
        cost?.functions ?? null,
      ];
      return { name, cells };
    };
    return {
      aims,
      tables: [
        {
          caption: "first frames, from start to stored",
          columns: [
            "one, ms",
            "one after quiet, ms",
            `${atOnce} at once, per second`,
            "Postgres, ms",
            "its process, ms",
          ],
          rows: [
            row("Keyframe", "ours", woken),
            row("DBOS", "dbos", []),
            row("the written function, which loses what it has when it ends", "written", []),
          ],
        },
      ],
      ...(cost
        ? { costs: [{ name: "a first frame, from start to stored", ...cost }], figures: { frameMs: cost.postgres } }
        : {}),
    };
  } finally {
    await Promise.all([written.stop(), dbos.stop()]);
  }
}

/** Through the API, each frame in the project of another user. Polls the table, which costs less than the API. */
export function openFrames({ sql, functionUrls }: BenchStack, users: BenchUser[]): Make {
  const projects = users.map(({ projectId }) => projectId);
  let started = 0;
  return async (atOnce) => {
    const requests = Array.from({ length: atOnce }, () => {
      const user = users[started++ % users.length] as BenchUser; // the index is below the number of users
      return startFrame(`${functionUrls.api}/api`, user, user.projectId);
    });
    const began = performance.now();
    const asked = runLoad({ requests, clients: atOnce, count: atOnce });
    const stored = async () => {
      // Most read one entry of a small index: they take a processor from what is measured.
      const active =
        await sql`select from keyframe.predictions where admitted_at is not null and completed_at is null limit 1`;
      if (active.length > 0) return false;
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
    await asked;
    return took;
  };
}

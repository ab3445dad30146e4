import { FUNCTION_NAMES } from "../../local/stack/function-arguments.ts";
import { pause } from "../../shared/platform/retry.ts";
import type { Aim, BenchContext, Benchmark, Result } from "./benchmark.ts";
import { runLoad } from "./load.ts";
import { measureInTurn, ratioOf, spreadOf, waitUntil } from "./measure.ts";
import { CpuMeter } from "./process-usage.ts";
import { startFrame, storeWrittenFrame } from "./requests.ts";
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
  try {
    const make = openFrames(stack, users);
    const makeWritten: Make = async (count) => {
      const requests = users.slice(0, count).map((user) => storeWrittenFrame(written.url, user, user.projectId));
      return (await runLoad({ requests, clients: count, count })).took;
    };
    // Until each of the gateway's connections has planned each statement.
    for (let round = 0; round < warmUps; round++) {
      await make(atOnce);
      await makeWritten(atOnce);
    }
    const awake = async () => {
      await make(1);
      return await make(1);
    };
    const one = await measureInTurn({ awake, written: () => makeWritten(1) }, ones, (text) => progress(`one, ${text}`));
    const woken: number[] = [];
    for (let time = 0; time < Math.ceil(ones / 3); time++) {
      await pause(QUIET_MS);
      woken.push(await make(1));
    }
    const pids = FUNCTION_NAMES.flatMap((name) => stack.children.get(name)?.pid ?? []);
    const ours = new CpuMeter(stack.sql, pids);
    const theirs = new CpuMeter(stack.sql, [written.pid]);
    const many = await measureInTurn(
      {
        ours: () => ours.during(atOnce, () => make(atOnce)),
        written: () => theirs.during(atOnce, () => makeWritten(atOnce)),
      },
      manies,
      (text) => progress(`${atOnce} at once, ${text}`),
    );
    const perSecond = (took: number[]) => took.map((ms) => (atOnce / ms) * 1000);
    const [rate, writtenRate] = [perSecond(many.ours), perSecond(many.written)];
    const aims: Aim[] = [
      {
        name: "one, right after another: ms ÷ the written function's",
        value: ratioOf(one.awake, one.written),
        atMost: 1.5,
      },
      {
        name: `${atOnce} at once: per second ÷ the written function's`,
        value: ratioOf(rate, writtenRate),
        atLeast: 0.9,
      },
    ];
    const { cost } = ours;
    if (cost)
      aims.push(
        { name: "processor time of Postgres for one, ms", value: spreadOf([cost.postgres]), atMost: 7 },
        { name: "processor time of the functions for one, ms", value: spreadOf([cost.functions]), atMost: 6 },
      );
    const cells = (rate: number[], { cost }: CpuMeter) => [
      spreadOf(rate),
      cost?.postgres ?? null,
      cost?.functions ?? null,
    ];
    return {
      aims,
      tables: [
        {
          caption: "first frames, from start to stored",
          columns: ["one, ms", "one after quiet, ms", `${atOnce} at once, per second`, "Postgres, ms", "functions, ms"],
          rows: [
            { name: "Keyframe", cells: [spreadOf(one.awake), spreadOf(woken), ...cells(rate, ours)] },
            { name: "the written function", cells: [spreadOf(one.written), null, ...cells(writtenRate, theirs)] },
          ],
        },
      ],
      costs: cost ? [{ name: "a first frame, from start to stored", ...cost }] : [],
    };
  } finally {
    await written.stop();
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
      // The polls count as processor time of Postgres, so most read one entry of a small index.
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

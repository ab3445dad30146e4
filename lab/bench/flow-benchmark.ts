import { readFrame, startFrame, storeFrame } from "./api/operations.ts";
import type { Aim, BenchContext, Benchmark, Result } from "./benchmark.ts";
import { FUNCTION_NAMES } from "../../local/stack/function-arguments.ts";
import { type Load, startLoad } from "./load.ts";
import { measureInTurn, ratioOf, spreadOf, waitUntil } from "./measure.ts";
import { type Cpu, CpuMeter } from "./memory/process-usage.ts";
import type { BenchStack } from "./stack.ts";
import { type BenchUser, makeProjects, makeUsers } from "./users.ts";
import { makeWrittenProjects, openWritten } from "./written/open-written.ts";
import { pause } from "../../shared/platform/pause.ts";

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
  const load = startLoad();
  const written = await openWritten(stack);
  try {
    const users = await makeUsers(stack, atOnce);
    const theirProjects = await makeWrittenProjects(stack, users);
    const { make, expectReadable } = await openFrames(stack, users, load);
    const makeWritten: Make = async (count) => {
      const requests = users.slice(0, count).map((user, at) => storeFrame(written.url, user, theirProjects[at] ?? ""));
      return (await load.run({ requests, clients: count, count, warmUp: 0 })).took;
    };
    // Until each of the gateway's connections has planned each statement.
    for (let round = 0; round < warmUps; round++) {
      await make(atOnce);
      await makeWritten(atOnce);
    }
    const one = await measureInTurn(
      {
        awake: async () => {
          await make(1);
          return await make(1);
        },
        written: () => makeWritten(1),
      },
      ones,
      (text) => progress(`one, ${text}`),
    );
    const woken: number[] = [];
    for (let time = 0; time < Math.ceil(ones / 3); time++) {
      await pause(QUIET_MS);
      woken.push(await make(1));
    }
    const ours = new CpuMeter(
      stack.sql,
      FUNCTION_NAMES.flatMap((name) => stack.children.get(name)?.pid ?? []),
    );
    const theirs = new CpuMeter(stack.sql, [written.pid]);
    const many = await measureInTurn(
      {
        ours: () => ours.during(atOnce, () => make(atOnce)),
        written: () => theirs.during(atOnce, () => makeWritten(atOnce)),
      },
      manies,
      (text) => progress(`${atOnce} at once, ${text}`),
    );
    await expectReadable();
    return describe(atOnce, { ...one, woken }, many, ours.cost, theirs.cost);
  } finally {
    await written.close();
    await load.close();
  }
}

function describe(
  atOnce: number,
  one: Record<"awake" | "woken" | "written", number[]>,
  many: Record<"ours" | "written", number[]>,
  cost: Cpu | null,
  writtenCost: Cpu | null,
): Result {
  const perSecond = (took: number[]) => took.map((ms) => (atOnce / ms) * 1000);
  const [ours, theirs] = [perSecond(many.ours), perSecond(many.written)];
  const cells = (rate: number[], cpu: Cpu | null) => [spreadOf(rate), cpu?.postgres ?? null, cpu?.functions ?? null];
  const aims: Aim[] = [
    {
      name: "one, right after another: ms ÷ the written function's",
      value: ratioOf(one.awake, one.written),
      atMost: 1.5,
    },
    {
      name: `${atOnce} at once: per second ÷ the written function's`,
      value: ratioOf(ours, theirs),
      atLeast: 0.9,
    },
  ];
  if (cost)
    aims.push(
      { name: "processor time of Postgres for one, ms", value: spreadOf([cost.postgres]), atMost: 7 },
      { name: "processor time of the functions for one, ms", value: spreadOf([cost.functions]), atMost: 6 },
    );
  return {
    aims,
    tables: [
      {
        caption: "first frames, from start to stored",
        columns: ["one, ms", "one after quiet, ms", `${atOnce} at once, per second`, "Postgres, ms", "functions, ms"],
        rows: [
          { name: "Keyframe", cells: [spreadOf(one.awake), spreadOf(one.woken), ...cells(ours, cost)] },
          { name: "the written function", cells: [spreadOf(one.written), null, ...cells(theirs, writtenCost)] },
        ],
      },
    ],
    costs: cost ? [{ name: "a first frame, from start to stored", ...cost }] : [],
  };
}

/** Through the API. Polls the table, which costs less than the API; `expectReadable` asks the API once for each user's last frame. */
export async function openFrames(stack: BenchStack, users: BenchUser[], load: Load) {
  const { sql } = stack;
  const api = `${stack.functionUrls.api}/api`;
  const projects = await makeProjects(stack, users);
  const owners = users.map(({ id }) => id);
  let started = 0;
  const make: Make = async (atOnce) => {
    const requests = Array.from({ length: atOnce }, () => {
      const at = started++ % users.length;
      return startFrame(api, users[at] as BenchUser, projects[at] ?? ""); // at is below the number of users
    });
    const began = performance.now();
    const asked = load.run({ requests, clients: atOnce, count: atOnce, warmUp: 0 });
    const stored = async () => {
      // The polls count as processor time of Postgres, so most read one entry of a small index.
      const active = await sql`
        select from keyframe.predictions where owner_id in ${sql(owners)} and admitted_at is not null and is_active limit 1`;
      if (active.length > 0) return false;
      const [row] = await sql<{ lost: number; stored: number }[]>`
        select count(*) filter (where status in ('failed', 'canceled'))::int as lost,
          count(*) filter (where status = 'succeeded')::int as stored
        from keyframe.predictions where project_id in ${sql(projects)}`;
      if (row?.lost) throw new Error(`${row.lost} first frames have failed.`);
      return row?.stored === started;
    };
    await waitUntil(stored, {
      what: `${atOnce} first frames are stored`,
      everyMs: POLL_MS[atOnce === 1 ? "one" : "many"],
    });
    const took = performance.now() - began;
    await asked;
    return took;
  };
  const expectReadable = async () => {
    const rows = await sql<{ id: string; project_id: string; owner_id: string }[]>`
      select distinct on (owner_id) id, project_id, owner_id from keyframe.predictions
      where project_id in ${sql(projects)} order by owner_id, created_at desc`;
    const requests = rows.map(({ id, project_id, owner_id }) => {
      const caller = users.find((user) => user.id === owner_id) ?? stack.caller;
      return { ...readFrame(api, caller, project_id, id), contains: `"url":"${stack.url}` };
    });
    await load.run({ requests, clients: users.length, count: users.length, warmUp: 0 });
  };
  return { make, expectReadable };
}

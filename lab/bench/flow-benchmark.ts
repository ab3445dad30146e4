import { FUNCTION_NAMES } from "../../local/stack/function-arguments.ts";
import { pause } from "../../shared/platform/pause.ts";
import type { Aim, BenchContext, Benchmark, Cost, Result } from "./benchmark.ts";
import { type Load, type LoadRequest, startLoad } from "./load.ts";
import { spreadOf, waitUntil } from "./measure.ts";
import { CpuMeter } from "./memory/process-usage.ts";
import { createProject, readFrame, startFrame } from "./requests.ts";
import type { BenchStack } from "./stack.ts";
import { type BenchUser, makeProjects, makeUsers } from "./users.ts";

const FULL = { atOnce: 50, warmUps: 3, ones: 15, manies: 5, requests: 500 };
const QUICK = { atOnce: 6, warmUps: 1, ones: 1, manies: 1, requests: 12 };
/** Frequent polls for one frame; fewer for many, so that polling costs less than the work. */
const POLL_MS = { one: 3, many: 20 };
/** After this the workers have ended and pg_net sends at once. */
const QUIET_MS = 4_000;

export const flowBenchmark: Benchmark = { name: "flow", run: measureFlow };

async function measureFlow({ quick, openStack, progress }: BenchContext): Promise<Result> {
  const { atOnce, warmUps, ones, manies, requests: count } = quick ? QUICK : FULL;
  const stack = await openStack();
  const load = startLoad();
  const meter = () =>
    new CpuMeter(
      stack.sql,
      FUNCTION_NAMES.flatMap((name) => stack.children.get(name)?.pid ?? []),
    );
  try {
    const users = await makeUsers(stack, atOnce);
    const { make, reads } = await openFrames(stack, users, load);
    // Until each of the gateway's connections has planned each statement.
    for (let round = 0; round < warmUps; round++) await make(atOnce);
    progress("one frame");
    const awake: number[] = [];
    for (let time = 0; time < ones; time++) awake.push(await make(1));
    const woken: number[] = [];
    for (let time = 0; time < Math.ceil(ones / 3); time++) {
      await pause(QUIET_MS);
      woken.push(await make(1));
    }
    progress(`${atOnce} at once`);
    const ofFrames = meter();
    const many: number[] = [];
    for (let round = 0; round < manies; round++) many.push(await ofFrames.during(atOnce, () => make(atOnce)));
    progress("requests");
    const costs: Cost[] = ofFrames.cost ? [{ name: "a first frame, from start to stored", ...ofFrames.cost }] : [];
    const requests: Record<string, LoadRequest[]> = {
      "create (API)": users.map((user) => createProject(`${stack.functionUrls.api}/api`, user)),
      "status, finished (API)": await reads(),
    };
    for (const [name, each] of Object.entries(requests)) {
      const cost = meter();
      const run = (count: number) => load.run({ requests: each, clients: 8, count, warmUp: count });
      await cost.during(2 * count, () => run(count));
      if (cost.cost) costs.push({ name, ...cost.cost });
    }
    const aims: Aim[] = [];
    if (ofFrames.cost)
      aims.push(
        { name: "processor time of Postgres for one, ms", value: spreadOf([ofFrames.cost.postgres]), atMost: 7 },
        { name: "processor time of the functions for one, ms", value: spreadOf([ofFrames.cost.functions]), atMost: 6 },
      );
    const rate = spreadOf(many.map((ms) => (atOnce / ms) * 1000));
    return {
      aims,
      tables: [
        {
          caption: "first frames, from start to stored",
          columns: ["one, ms", "one after quiet, ms", `${atOnce} at once, per second`],
          rows: [{ name: "Keyframe", cells: [spreadOf(awake), spreadOf(woken), rate] }],
        },
      ],
      costs,
    };
  } finally {
    await load.close();
  }
}

/**
 * `make` makes and stores so many first frames at once through the API, each of another user, and returns ms until the last is stored. It
 * polls the table, which costs less than the API. `reads` are requests of each user for its last one.
 */
async function openFrames(stack: BenchStack, users: BenchUser[], load: Load) {
  const { sql } = stack;
  const api = `${stack.functionUrls.api}/api`;
  const projects = await makeProjects(stack, users);
  let started = 0;
  const make = async (atOnce: number): Promise<number> => {
    const requests = Array.from({ length: atOnce }, () => {
      const at = started++ % users.length;
      return startFrame(api, users[at] as BenchUser, projects[at] ?? ""); // at is below the number of users
    });
    const began = performance.now();
    const asked = load.run({ requests, clients: atOnce, count: atOnce, warmUp: 0 });
    const stored = async () => {
      const [row] = await sql<{ open: number; lost: number; stored: number }[]>`
        select count(*) filter (where is_active)::int as open, count(*) filter (where status in ('failed', 'canceled'))::int as lost,
          count(*) filter (where status = 'succeeded')::int as stored
        from keyframe.predictions where project_id in ${sql(projects)}`;
      if (row?.lost) throw new Error(`${row.lost} first frames have failed.`);
      return row?.open === 0 && row.stored === started;
    };
    await waitUntil(stored, {
      what: `${atOnce} first frames are stored`,
      everyMs: POLL_MS[atOnce === 1 ? "one" : "many"],
    });
    const took = performance.now() - began;
    await asked;
    return took;
  };
  const reads = async (): Promise<LoadRequest[]> => {
    const rows = await sql<{ id: string; project_id: string; owner_id: string }[]>`
      select distinct on (owner_id) id, project_id, owner_id from keyframe.predictions
      where project_id in ${sql(projects)} order by owner_id, created_at desc`;
    return rows.map(({ id, project_id, owner_id }) => {
      const caller = users.find((user) => user.id === owner_id) ?? stack.caller;
      return { ...readFrame(api, caller, project_id, id), contains: `"url":"${stack.url}` };
    });
  };
  return { make, reads };
}

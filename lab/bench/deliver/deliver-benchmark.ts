import type { Aim, BenchContext, Benchmark, Result } from "../benchmark.ts";
import { measureInTurn, quantile, ratioOf, spreadOf } from "../measure.ts";
import { CpuMeter } from "../memory/process-usage.ts";
import type { BenchStack } from "../stack.ts";
import { runBurst } from "./burst.ts";
import { ENDPOINTS, openScene, type Scene } from "./scene.ts";
import { graphileWay, keyframeWay, pgNetWay, type Way } from "./ways.ts";

/** `slow`: events for each of twenty endpoints, two of which hang. Fewer for the peers: each hanging request costs them seconds. */
const FULL = { rounds: 3, events: 10_000, pgNetEvents: 1_000, slow: { ours: 500, peers: 50, rounds: 3 } };
const QUICK = { rounds: 1, events: 1_000, pgNetEvents: 200, slow: { ours: 50, peers: 20, rounds: 1 } };
const WARM_UP_EVENTS = 2_000;
const HANGING = ENDPOINTS.slice(0, 2);
const HEALTHY = ENDPOINTS.slice(2);

export const deliverBenchmark: Benchmark = {
  name: "deliver",
  run: async (context) => {
    const stack = await context.openStack();
    const scene = await openScene(stack.databaseUrl);
    const opened: Way[] = [];
    const open = async (way: Way | Promise<Way>) => {
      opened.push(await way);
      return await way;
    };
    try {
      const ways = {
        keyframe: await open(keyframeWay(scene)),
        graphile: await open(graphileWay(scene)),
        pgNet: await open(pgNetWay(scene)),
      };
      const rates = await measureRates(context, stack, scene, ways);
      const slow = await measureSlow(context, scene, ways);
      return {
        aims: [...rates.aims, ...slow.aims],
        tables: [...rates.tables, ...slow.tables],
        costs: rates.costs ?? [],
      };
    } finally {
      for (const way of opened) await way.close();
      await scene.close();
    }
  },
};

type Ways = Record<"keyframe" | "graphile" | "pgNet", Way>;

async function measureRates(
  { quick, progress }: BenchContext,
  stack: BenchStack,
  scene: Scene,
  ways: Ways,
): Promise<Result> {
  const { rounds, events, pgNetEvents } = quick ? QUICK : FULL;
  const names = Object.keys(ways) as (keyof Ways)[]; // its keys are all there is in it
  const deliver = stack.children.get("keyframe-deliver")?.pid;
  const meters = names.map((name) => {
    const pid = name === "keyframe" ? deliver : ways[name].pid;
    return [name, new CpuMeter(stack.sql, pid === undefined ? [] : [pid])] as const;
  });
  const rate = async (name: keyof Ways, count: number) => {
    const { took } = await runBurst(scene, ways[name], { events: count, endpoints: ENDPOINTS });
    return (count / took) * 1000;
  };
  for (const name of names) {
    progress(`${name} warms up`);
    await rate(name, name === "pgNet" ? 1 : Math.min(WARM_UP_EVENTS, events));
  }
  const measures = meters.map(([name, meter]) => {
    const count = name === "pgNet" ? pgNetEvents : events;
    return [name, () => meter.during(count, () => rate(name, count))] as const;
  });
  const found: Record<string, number[]> = await measureInTurn(Object.fromEntries(measures), rounds, progress);
  const ratioTo = (name: keyof Ways) => ratioOf(found.keyframe ?? [], found[name] ?? []);
  const cost = new Map(meters).get("keyframe")?.cost;
  return {
    aims: [
      { name: "events per second ÷ graphile-worker's", value: ratioTo("graphile"), atLeast: 0.7 },
      { name: "events per second ÷ pg_net's", value: ratioTo("pgNet"), atLeast: 20 },
    ],
    tables: [
      {
        caption: `${events.toLocaleString("en-US")} events over 20 endpoints`,
        columns: ["per second", "Postgres, ms for one", "the sender, ms for one"],
        rows: meters.map(([name, { cost }]) => ({
          name: name === "pgNet" ? `pg_net (${stack.extensions.pg_net}), ${pgNetEvents} events` : ways[name].name,
          cells: [
            spreadOf(found[name] ?? []),
            cost?.postgres ?? null,
            name === "pgNet" ? null : (cost?.functions ?? null),
          ],
        })),
      },
    ],
    costs: cost ? [{ name: "an event with one delivery", ...cost }] : [],
  };
}

/** What the receivers that answer notice of two that hang: p95 from COMMIT to received. */
async function measureSlow({ quick, progress }: BenchContext, scene: Scene, ways: Ways): Promise<Result> {
  const { ours, peers, rounds } = (quick ? QUICK : FULL).slow;
  const aims: Aim[] = [];
  const rows = [];
  for (const name of ["keyframe", "graphile"] as const) {
    const isOurs = name === "keyframe";
    const each = isOurs ? ours : peers;
    const p95 = async (endpoints: number[], hanging: number[]) => {
      const load = { events: each * endpoints.length, endpoints, hanging };
      return quantile((await runBurst(scene, ways[name], load)).delays, 0.95);
    };
    const { without, withTwo } = await measureInTurn(
      { without: () => p95(HEALTHY, []), withTwo: () => p95(ENDPOINTS, HANGING) },
      isOurs ? rounds : 1,
      (text) => progress(`two of twenty hang, ${name}, ${text}`),
    );
    const ratio = ratioOf(withTwo, without);
    rows.push({
      name: `${ways[name].name}, ${each} events each`,
      cells: [spreadOf(without), spreadOf(withTwo), ratio],
    });
    if (isOurs) aims.push({ name: "p95 in ms with two hanging receivers ÷ without them", value: ratio, atMost: 1.2 });
  }
  const columns = ["without the two", "with the two", "ratio"];
  return { aims, tables: [{ caption: "p95 of the 18 that answer, from COMMIT to received, ms", columns, rows }] };
}

import type { BenchContext, Benchmark, Result } from "../benchmark.ts";
import { measureInTurn, quantile, ratioOf, spreadOf } from "../measure.ts";
import { runBurst } from "./burst.ts";
import { ENDPOINTS, openScene, type Scene } from "./scene.ts";
import { graphileWay, keyframeWay, pgBossWay, pgNetWay, type Way } from "./ways.ts";

const HANGING = ENDPOINTS.slice(0, 2);
const HEALTHY = ENDPOINTS.slice(2);

/** Fewer events and one round for the peers: each hanging request costs them seconds. */
const FULL = { ours: { rounds: 3, each: 500 }, peers: { rounds: 1, each: 50 } };
const QUICK = { ours: { rounds: 1, each: 50 }, peers: null };

export const isolationBenchmark: Benchmark = {
  name: "isolation",
  title: "Slow receivers beside healthy ones",
  work:
    "500 events for each of 20 endpoints, committed at once, where two of the endpoints take requests and never answer; beside it the same " +
    "without those two. Measured is what the 18 healthy ones notice: the time from COMMIT until an event is received. The peers " +
    "have 50 events for each, and give a request up after 2 s, where Keyframe waits for 15.",
  run: async (context) => {
    const { databaseUrl } = await context.stack();
    const scene = await openScene(databaseUrl);
    const ways: Way[] = [];
    const openers = context.quick ? [keyframeWay] : [keyframeWay, pgBossWay, graphileWay, pgNetWay];
    try {
      for (const open of openers) ways.push(await open(scene));
      return await compare(context, scene, ways);
    } finally {
      for (const way of ways) await way.close();
      await scene.close();
    }
  },
};

async function compare({ quick, progress }: BenchContext, scene: Scene, ways: Way[]): Promise<Result> {
  const result: Result = { tables: [], aims: [] };
  const rows: { name: string; cells: ReturnType<typeof spreadOf>[] }[] = [];
  for (const [index, way] of ways.entries()) {
    const { ours, peers } = quick ? QUICK : FULL;
    const { rounds, each } = index === 0 ? ours : (peers ?? ours);
    const p95 = async (endpoints: number[], hanging: number[]) => {
      const { delays } = await runBurst(scene, way, { events: each * endpoints.length, endpoints, hanging });
      return quantile(delays, 0.95);
    };
    progress(`${way.name} warms up`);
    await p95(HEALTHY, []);
    const { without, beside } = await measureInTurn(
      { without: () => p95(HEALTHY, []), beside: () => p95(ENDPOINTS, HANGING) },
      rounds,
      (text) => progress(`${way.name}, ${text}`),
    );
    const ratio = ratioOf(beside, without);
    rows.push({ name: way.name, cells: [spreadOf(without), spreadOf(beside), ratio] });
    if (index === 0)
      result.aims.push({ name: "p95 of the healthy beside hanging ones, and without them", ratio, atMost: 1.2 });
  }
  result.tables.push({
    caption: "p95 from COMMIT to received, healthy endpoints",
    unit: "ms",
    columns: ["without the two", "beside the two", "ratio"],
    rows,
  });
  return result;
}

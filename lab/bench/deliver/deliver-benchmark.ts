import { pause } from "../../../shared/platform/retry.ts";
import type { BenchContext, Benchmark, Result } from "../benchmark.ts";
import { measureInTurn, quantile, ratioOf, spreadOf } from "../measure.ts";
import { CpuMeter } from "../process-usage.ts";
import { openScene, type Scene } from "./scene.ts";
import { graphileWay, keyframeWay, runBurst, sendOne, type Way } from "./ways.ts";

const FULL = { rounds: 5, events: 10_000, warmUp: 2_000, inARow: 300, afterQuiet: 7 };
const QUICK = { rounds: 1, events: 1_000, warmUp: 500, inARow: 10, afterQuiet: 1 };
/** After this the workers have ended, and pg_net sends at once. */
const QUIET_MS = 4_000;

type Ways = { keyframe: Way; graphile: Way };

export const deliverBenchmark: Benchmark = {
  name: "deliver",
  run: async (context) => {
    const scene = await openScene(await context.openStack());
    const graphile = await graphileWay(scene);
    const ways = { keyframe: keyframeWay(scene), graphile };
    try {
      const latency = await measureLatency(context, scene, ways);
      const rates = await measureRates(context, scene, ways, graphile.pid);
      return {
        aims: [...rates.aims, ...latency.aims],
        tables: [...rates.tables, ...latency.tables],
        costs: rates.costs ?? [],
      };
    } finally {
      await graphile.stop();
      await scene.receiver.close();
    }
  },
};

async function measureRates(
  { quick, progress }: BenchContext,
  scene: Scene,
  ways: Ways,
  peerPid: number,
): Promise<Result> {
  const { rounds, events, warmUp } = quick ? QUICK : FULL;
  progress("warms up");
  for (const way of [ways.keyframe, ways.graphile]) await runBurst(scene, way, warmUp);
  const ours = new CpuMeter(scene.sql, [scene.children.get("keyframe-deliver")?.pid ?? 0]);
  const theirs = new CpuMeter(scene.sql, [peerPid]);
  const rate = async (way: Way) => (events / (await runBurst(scene, way, events))) * 1000;
  const { keyframe, graphile } = await measureInTurn(
    {
      keyframe: () => ours.during(events, () => rate(ways.keyframe)),
      graphile: () => theirs.during(events, () => rate(ways.graphile)),
    },
    rounds,
    progress,
  );
  const row = (name: string, rates: number[], { cost }: CpuMeter) => ({
    ...{ name, cells: [spreadOf(rates), cost?.postgres ?? null, cost?.functions ?? null] },
  });
  return {
    aims: [{ name: "events per second ÷ graphile-worker's", value: ratioOf(keyframe, graphile), atLeast: 0.7 }],
    tables: [
      {
        caption: `${events.toLocaleString("en-US")} events over 20 endpoints`,
        columns: ["per second", "Postgres, ms for one", "the sender, ms for one"],
        rows: [row("Keyframe", keyframe, ours), row("graphile-worker + fetch", graphile, theirs)],
      },
    ],
    costs: ours.cost ? [{ name: "an event with one delivery", ...ours.cost }] : [],
  };
}

/** ms from COMMIT to received, of single events. */
async function measureLatency({ quick, progress }: BenchContext, scene: Scene, ways: Ways): Promise<Result> {
  const { inARow, afterQuiet } = quick ? QUICK : FULL;
  for (const way of [ways.keyframe, ways.graphile]) await sendOne(scene, way);
  const quiet = { keyframe: [] as number[], graphile: [] as number[] };
  for (let time = 1; time <= afterQuiet; time++) {
    progress(`after quiet, ${time} of ${afterQuiet}`);
    await pause(QUIET_MS);
    quiet.graphile.push(await sendOne(scene, ways.graphile)); // wakes nothing of ours
    quiet.keyframe.push(await sendOne(scene, ways.keyframe));
  }
  progress(`${inARow} in a row`);
  const single = (way: Way) => async () => {
    await pause(10 + Math.random() * 50);
    return await sendOne(scene, way);
  };
  const row = await measureInTurn(
    { keyframe: single(ways.keyframe), graphile: single(ways.graphile) },
    inARow,
    () => undefined,
  );
  const at = (values: number[], fraction: number) => spreadOf([quantile(values, fraction)]);
  const line = (name: string, values: number[], later: number[]) => ({
    ...{ name, cells: [at(values, 0.5), at(values, 0.95), spreadOf(later)] },
  });
  return {
    aims: [
      {
        name: "one event in a row: p50 in ms ÷ graphile-worker's",
        value: ratioOf([quantile(row.keyframe, 0.5)], [quantile(row.graphile, 0.5)]),
        atMost: 2,
      },
      {
        name: "one event after quiet: ms ÷ graphile-worker's",
        value: ratioOf(quiet.keyframe, quiet.graphile),
        atMost: 3,
      },
    ],
    tables: [
      {
        caption: "one event, from COMMIT to received, ms",
        columns: ["p50 in a row", "p95 in a row", "after quiet"],
        rows: [
          line("Keyframe", row.keyframe, quiet.keyframe),
          line("graphile-worker + fetch", row.graphile, quiet.graphile),
        ],
      },
    ],
  };
}

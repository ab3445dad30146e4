import { pause } from "../../../shared/platform/retry.ts";
import type { Aim, BenchContext, Benchmark, Result } from "../benchmark.ts";
import { measureInTurn, quantile, ratioOf, spreadOf } from "../measure.ts";
import { CpuMeter } from "../process-usage.ts";
import { openGraphileWorker, openPgBoss } from "./queues.ts";
import { checkIsolation, inTurn, runBurst, sendOne } from "./runs.ts";
import { openScene, type Scene } from "./scene.ts";
import { keyframeWay, type Way } from "./ways.ts";

const FULL = { rounds: 5, events: 10_000, warmUp: 2_000, inARow: 200, afterQuiet: 7 };
const QUICK = { rounds: 1, events: 1_000, warmUp: 500, inARow: 10, afterQuiet: 1 };
/** After this the workers have ended, and pg_net sends at once. */
const QUIET_MS = 4_000;

type Ways = Record<"keyframe" | "graphile" | "pgBoss" | "bareGraphile", Way>;
type Measured = Record<keyof Ways, number[]>;

export const deliverBenchmark: Benchmark = {
  name: "deliver",
  run: async (context) => {
    const scene = await openScene(await context.openStack());
    const peers: Way[] = [];
    const opened = async (opening: Promise<Way>) => {
      const way = await opening;
      way.peer?.pause();
      peers.push(way);
      return way;
    };
    try {
      const bareGraphile = await opened(openGraphileWorker(scene, false));
      const ways: Ways = {
        keyframe: keyframeWay(scene),
        graphile: await opened(openGraphileWorker(scene, true)),
        pgBoss: await opened(openPgBoss(scene)),
        bareGraphile,
      };
      context.progress("one endpoint does not answer");
      for (const way of [ways.keyframe, ways.graphile, ways.pgBoss])
        await inTurn(way, () => checkIsolation(scene, way));
      const latency = await measureLatency(context, scene, ways);
      const rates = await measureRates(context, scene, ways);
      return {
        aims: [...rates.aims, ...latency.aims],
        tables: [...rates.tables, ...latency.tables],
        costs: rates.costs ?? [],
        figures: rates.figures ?? {},
      };
    } finally {
      for (const { peer } of peers) await peer?.stop();
      await scene.receiver.close();
    }
  },
};

/** The same of each way, by its key. */
const ofEach = <Value>(ways: Ways, make: (way: Way, key: keyof Ways) => Value) =>
  Object.fromEntries(listOf(ways).map(([key, way]) => [key, make(way, key)])) as Record<keyof Ways, Value>; // each key
const listOf = (ways: Ways) => Object.entries(ways) as [keyof Ways, Way][]; // its keys are all there is in it

async function measureRates({ quick, progress }: BenchContext, scene: Scene, ways: Ways): Promise<Result> {
  const { rounds, events, warmUp } = quick ? QUICK : FULL;
  progress("warms up");
  for (const [, way] of listOf(ways)) await inTurn(way, () => runBurst(scene, way, warmUp));
  const meters = ofEach(ways, ({ pid }) => new CpuMeter(scene.sql, [pid]));
  const bursts = ofEach(ways, (way, key) => {
    const burst = async () => (events / (await runBurst(scene, way, events))) * 1000;
    return () => inTurn(way, () => meters[key].during(events, burst));
  });
  const rates: Measured = await measureInTurn(bursts, rounds, progress);
  const aim = (key: keyof Ways, whose: string, atLeast: number): Aim => ({
    name: `events per second ÷ ${whose}`,
    value: ratioOf(rates.keyframe, rates[key]),
    atLeast,
  });
  const ours = meters.keyframe.cost;
  return {
    aims: [
      aim("graphile", "graphile-worker's, equal work", 1),
      aim("pgBoss", "pg-boss', equal work", 1),
      aim("bareGraphile", "graphile-worker's, bare", 0.75),
    ],
    tables: [
      {
        caption: `${events.toLocaleString("en-US")} events over 20 endpoints`,
        columns: ["per second", "Postgres, ms for one", "the sender, ms for one"],
        rows: listOf(ways).map(([key, { name }]) => {
          const { cost } = meters[key];
          return { name, cells: [spreadOf(rates[key]), cost?.postgres ?? null, cost?.functions ?? null] };
        }),
      },
    ],
    costs: ours ? [{ name: "an event with one delivery", ...ours }] : [],
    figures: ours ? { eventMs: ours.postgres } : {},
  };
}

/** ms from COMMIT to received, of single events. */
async function measureLatency({ quick, progress }: BenchContext, scene: Scene, ways: Ways): Promise<Result> {
  const { inARow, afterQuiet } = quick ? QUICK : FULL;
  for (const [, way] of listOf(ways)) await inTurn(way, () => sendOne(scene, way));
  const quiet: Measured = ofEach(ways, () => []);
  for (let time = 1; time <= afterQuiet; time++) {
    progress(`after quiet, ${time} of ${afterQuiet}`);
    await pause(QUIET_MS);
    // Ours comes last, because the others do not wake our functions.
    for (const [key, way] of listOf(ways).toReversed()) quiet[key].push(await inTurn(way, () => sendOne(scene, way)));
  }
  progress(`${inARow} in a row`);
  const single = ofEach(ways, (way) => async () => {
    await pause(Math.random() * 50);
    return await inTurn(way, () => sendOne(scene, way));
  });
  const row: Measured = await measureInTurn(single, inARow, () => undefined);
  const at = (values: number[], fraction: number) => quantile(values, fraction);
  return {
    aims: [
      {
        name: "one event in a row: p50 in ms ÷ graphile-worker's, bare",
        value: ratioOf([at(row.keyframe, 0.5)], [at(row.bareGraphile, 0.5)]),
        atMost: 1.5,
      },
      {
        name: "one event after quiet: ms ÷ graphile-worker's, bare",
        value: ratioOf(quiet.keyframe, quiet.bareGraphile),
        atMost: 2,
      },
    ],
    tables: [
      {
        caption: "one event, from COMMIT to received, ms",
        columns: ["p50 in a row", "p95 in a row", "after quiet"],
        rows: listOf(ways).map(([key, { name }]) => ({
          name,
          cells: [at(row[key], 0.5), at(row[key], 0.95), spreadOf(quiet[key])],
        })),
      },
    ],
  };
}

import { pause } from "../../../shared/platform/retry.ts";
import type { Aim, BenchContext, Benchmark, Result } from "../benchmark.ts";
import { measureInTurn, quantile, ratioOf } from "../measure.ts";
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
      return { ...rates, aims: rates.aims.concat(latency) };
    } finally {
      for (const { peer } of peers) await peer?.stop();
      await scene.receiver.close();
    }
  },
};

/** The same of each way, by its key. */
const ofEach = <Value>(ways: Ways, make: (way: Way) => Value) =>
  Object.fromEntries(listOf(ways).map(([key, way]) => [key, make(way)])) as Record<keyof Ways, Value>; // each key
const listOf = (ways: Ways) => Object.entries(ways) as [keyof Ways, Way][]; // its keys are all there is in it

async function measureRates({ quick, progress }: BenchContext, scene: Scene, ways: Ways): Promise<Result> {
  const { rounds, events, warmUp } = quick ? QUICK : FULL;
  progress("warms up");
  for (const [, way] of listOf(ways)) await inTurn(way, () => runBurst(scene, way, warmUp));
  const meter = new CpuMeter(scene.sql, [scene.children.get("keyframe-deliver")?.pid ?? 0]);
  const bursts = ofEach(ways, (way) => {
    const burst = async () => (events / (await runBurst(scene, way, events))) * 1000;
    return () => inTurn(way, () => (way === ways.keyframe ? meter.during(events, burst) : burst()));
  });
  const rates: Measured = await measureInTurn(bursts, rounds, progress);
  const aim = (key: keyof Ways, whose: string, atLeast: number): Aim => ({
    name: `events per second ÷ ${whose}`,
    value: ratioOf(rates.keyframe, rates[key]),
    atLeast,
  });
  const ours = meter.cost;
  return {
    aims: [
      aim("graphile", "graphile-worker's, equal work", 1),
      aim("pgBoss", "pg-boss', equal work", 1),
      aim("bareGraphile", "graphile-worker's, bare", 0.75),
    ],
    costs: ours ? [{ name: "an event with one delivery", ...ours }] : [],
    figures: ours ? { eventMs: ours.postgres } : {},
  };
}

/** ms from COMMIT to received, of single events. */
async function measureLatency({ quick, progress }: BenchContext, scene: Scene, all: Ways): Promise<Aim[]> {
  const { inARow, afterQuiet } = quick ? QUICK : FULL;
  const one = (way: Way) => () => inTurn(way, () => sendOne(scene, way));
  const [ours, theirs] = [one(all.keyframe), one(all.bareGraphile)];
  await ours();
  await theirs();
  const quiet: Record<"ours" | "theirs", number[]> = { ours: [], theirs: [] };
  for (let time = 1; time <= afterQuiet; time++) {
    progress(`after quiet, ${time} of ${afterQuiet}`);
    await pause(QUIET_MS);
    // Ours comes last, because the other does not wake our functions.
    quiet.theirs.push(await theirs());
    quiet.ours.push(await ours());
  }
  progress(`${inARow} in a row`);
  const soon = (send: () => Promise<number>) => async () => {
    await pause(Math.random() * 50);
    return await send();
  };
  const row = await measureInTurn({ ours: soon(ours), theirs: soon(theirs) }, inARow, () => undefined);
  return [
    {
      name: "one event in a row: p50 in ms ÷ graphile-worker's, bare",
      value: ratioOf([quantile(row.ours, 0.5)], [quantile(row.theirs, 0.5)]),
      atMost: 1.5,
    },
    {
      name: "one event after quiet: ms ÷ graphile-worker's, bare",
      value: ratioOf(quiet.ours, quiet.theirs),
      atMost: 2,
    },
  ];
}

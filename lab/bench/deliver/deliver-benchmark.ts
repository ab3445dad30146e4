import type { Benchmark, BenchContext, Result } from "../benchmark.ts";
import { measureInTurn, ratioOf, spreadOf } from "../measure.ts";
import { runBurst } from "./burst.ts";
import { fetchLoopWay, graphileWay, keyframeWay, pgBossWay, pgNetWay, type Way } from "./ways.ts";
import { ENDPOINTS, openScene, type Scene } from "./scene.ts";

const ROUNDS = 3;
const EVENTS = 10_000;
/** Fewer for pg_net: a thousand take it five seconds, and more do not change its rate. */
const PG_NET_EVENTS = 1_000;
const QUICK = { rounds: 1, events: 1_000, pgNetEvents: 400 };

export const deliverBenchmark: Benchmark = {
  name: "deliver",
  title: "Delivering webhooks",
  work:
    "10,000 events of 1 KB over 20 endpoints, committed in one transaction: from COMMIT until each is received and its outcome " +
    "recorded, signed. A sender's process, the receiver's and Postgres (fsync on) share the machine.",
  run: async (context) => {
    const { databaseUrl, extensions } = await context.stack();
    const scene = await openScene(databaseUrl);
    const ways: Way[] = [];
    try {
      for (const open of [keyframeWay, pgBossWay, graphileWay, pgNetWay, fetchLoopWay]) ways.push(await open(scene));
      return await compare(context, scene, ways, extensions.pg_net);
    } finally {
      for (const way of ways) await way.close();
      await scene.close();
    }
  },
};

async function compare({ quick, progress }: BenchContext, scene: Scene, ways: Way[], pgNet: string): Promise<Result> {
  const [keyframe, boss, graphile, pgNetWay_, loop] = ways.map((way) => way.name);
  const { rounds, events, pgNetEvents } = quick
    ? QUICK
    : { rounds: ROUNDS, events: EVENTS, pgNetEvents: PG_NET_EVENTS };
  const rate = async (way: Way, count: number) => {
    const { took } = await runBurst(scene, way, { events: count, endpoints: ENDPOINTS });
    return (count / took) * 1000;
  };
  const count = (way: Way) => (way.name === pgNetWay_ ? pgNetEvents : events);
  for (const way of ways) {
    progress(`${way.name} warms up`);
    if (way.name !== pgNetWay_) await rate(way, Math.min(2_000, events));
  }
  const rates: Record<string, number[]> = await measureInTurn(
    Object.fromEntries(ways.map((way) => [way.name, () => rate(way, count(way))])),
    rounds,
    progress,
  );
  const of = (name: string | undefined) => rates[name ?? ""] ?? [];
  const peers = [of(boss), of(graphile)].map((values) => ratioOf(of(keyframe), values));
  const [best = ratioOf(of(keyframe), of(keyframe))] = peers.toSorted((a, b) => a.median - b.median);
  return {
    tables: [
      {
        caption: "Events delivered and recorded",
        unit: "per second",
        columns: ["rate"],
        rows: ways.map(({ name }) => ({
          name: name === pgNetWay_ ? `${name} (${pgNet}), ${pgNetEvents} events` : name,
          cells: [spreadOf(of(name))],
        })),
      },
    ],
    aims: [
      { name: "events per second, beside the best peer with a queue", ratio: best, atLeast: 1.5 },
      { name: "events per second, beside pg_net", ratio: ratioOf(of(keyframe), of(pgNetWay_)), atLeast: 10 },
      { name: "events per second, beside a bare fetch loop", ratio: ratioOf(of(keyframe), of(loop)), atLeast: 0.4 },
    ],
  };
}

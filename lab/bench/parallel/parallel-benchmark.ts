import type { Benchmark, BenchContext, Result } from "../benchmark.ts";
import { runBurst } from "../deliver/burst.ts";
import { keyframeWay } from "../deliver/keyframe-way.ts";
import { ENDPOINTS, openScene, type Scene } from "../deliver/scene.ts";
import { type DeliverProcess, startDeliver } from "../deliver/start-deliver.ts";
import { untilQuiet } from "../deliver/until-quiet.ts";
import type { Way } from "../deliver/way.ts";
import { measureInTurn } from "../measure/in-turn.ts";
import { ratioOf, spreadOf } from "../measure/spread.ts";

const FULL = { rounds: 3, events: 10_000, processes: [1, 2, 4] };
const QUICK = { rounds: 1, events: 1_000, processes: [1, 2] };

export const parallelBenchmark: Benchmark = {
  name: "parallel",
  title: "More than one deliver at once",
  work:
    "10,000 events over 20 endpoints, drained by one, two and four deliver functions, as a hosted platform starts them. Each endpoint " +
    "still has at most 8 requests under way: the database counts them.",
  run: async (context) => {
    const stack = await context.stack();
    const scene = await openScene(stack.databaseUrl);
    const more: DeliverProcess[] = [];
    try {
      // The first is the stack's own, which Postgres wakes.
      const most = Math.max(...(context.quick ? QUICK : FULL).processes);
      while (more.length + 1 < most) more.push(await startDeliver(stack));
      return await compare(context, scene, more);
    } finally {
      for (const deliver of more) await deliver.close();
      await scene.close();
    }
  },
};

async function compare({ quick, progress }: BenchContext, scene: Scene, more: DeliverProcess[]): Promise<Result> {
  const { rounds, events, processes } = quick ? QUICK : FULL;
  const way = keyframeWay(scene);
  let looking = 0;
  const rate = async (count: number) => {
    // Those that had a part in the last run go on looking for seconds.
    if (looking > count) await untilQuiet(scene.sql);
    looking = count;
    const { took } = await runBurst(scene, kickedToo(way, more.slice(0, count - 1)), { events, endpoints: ENDPOINTS });
    return (events / took) * 1000;
  };
  progress("all warm up");
  if (!quick) await rate(Math.max(...processes));
  const rates = await measureInTurn(
    Object.fromEntries(processes.map((count) => [String(count), () => rate(count)])),
    rounds,
    progress,
  );
  const [one = []] = Object.values(rates);
  return {
    tables: [
      {
        caption: "Events delivered and recorded",
        unit: "per second",
        columns: ["rate", "beside one"],
        rows: Object.entries(rates).map(([count, values]) => ({
          name: `${count} deliver ${count === "1" ? "process" : "processes"}`,
          cells: [spreadOf(values), ratioOf(values, one)],
        })),
      },
    ],
    aims: [],
    notes: [
      `${navigator.hardwareConcurrency} cores carry the senders, the receiver, the gateway and Postgres together: what this shows is what more processes cost here, not what they bring where they have cores of their own.`,
    ],
  };
}

/** The same, with more processes woken as soon as the events are committed. */
const kickedToo = (way: Way, more: DeliverProcess[]): Way => ({
  ...way,
  commit: async (events, endpoints) => {
    const sent = await way.commit(events, endpoints);
    await Promise.all(more.map((deliver) => deliver.kick()));
    return sent;
  },
});

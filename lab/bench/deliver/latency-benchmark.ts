import { pause } from "../../../shared/platform/pause.ts";
import type { BenchContext, Benchmark, Result } from "../benchmark.ts";
import { quantile, ratioOf, spreadOf } from "../measure.ts";
import { openScene, type Scene } from "./scene.ts";
import { keyframeWay, notifyWay, pgNetWay, type Way } from "./ways.ts";

const TIMEOUT_MS = 30_000;
const FULL = { times: 300, quietTimes: 7 };
const QUICK = { times: 10, quietTimes: 1 };
/** pg_net pauses for up to a second after it sent, so it gets one event in so many. */
const PG_NET_EVERY = 15;
/** After this the workers have ended, and pg_net sends at once. */
const QUIET_MS = 4_000;

export const latencyBenchmark: Benchmark = {
  name: "latency",
  run: async (context) => {
    const { databaseUrl, extensions } = await context.openStack();
    const scene = await openScene(databaseUrl);
    const notify = await notifyWay(scene);
    try {
      return await compare(context, scene, notify, extensions.pg_net);
    } finally {
      await notify.close();
      await scene.close();
    }
  },
};

async function compare(
  { quick, progress }: BenchContext,
  scene: Scene,
  notify: Way,
  pgNetKind: string,
): Promise<Result> {
  const { times, quietTimes } = quick ? QUICK : FULL;
  const ours = keyframeWay(scene);
  const pgNet = await pgNetWay(scene);
  for (const way of [ours, notify, pgNet]) await delayOfOne(scene, way);

  const quiet = { ours: [] as number[], notify: [] as number[] };
  for (let time = 1; time <= quietTimes; time++) {
    progress(`after quiet, ${time} of ${quietTimes}`);
    await pause(QUIET_MS);
    quiet.notify.push(await delayOfOne(scene, notify)); // wakes nothing of ours
    quiet.ours.push(await delayOfOne(scene, ours));
  }
  const row = { ours: [] as number[], notify: [] as number[], pgNet: [] as number[] };
  for (let time = 0; time < times; time++) {
    if (time % 100 === 0) progress(`in a row, ${time} of ${times}`);
    for (const [name, way] of [
      ["ours", ours],
      ["notify", notify],
      ["pgNet", pgNet],
    ] as const) {
      if (name === "pgNet" && time % PG_NET_EVERY !== 0) continue;
      await pause(10 + Math.random() * 50);
      row[name].push(await delayOfOne(scene, way));
    }
  }
  const at = (values: number[], fraction: number) => spreadOf([quantile(values, fraction)]);
  const line = (name: string, values: number[], cell: number[] | null) => ({
    ...{ name, cells: [at(values, 0.5), at(values, 0.95), cell && spreadOf(cell)] },
  });
  return {
    aims: [
      {
        name: "ms in a row, p50 ÷ LISTEN/NOTIFY's",
        value: ratioOf([quantile(row.ours, 0.5)], [quantile(row.notify, 0.5)]),
        atMost: 6,
      },
      { name: "ms after quiet ÷ LISTEN/NOTIFY's", value: ratioOf(quiet.ours, quiet.notify), atMost: 6 },
    ],
    tables: [
      {
        caption: "from COMMIT to received, ms",
        columns: ["p50 in a row", "p95 in a row", "after quiet"],
        rows: [
          line(ours.name, row.ours, quiet.ours),
          line(notify.name, row.notify, quiet.notify),
          line(`${pgNet.name} (${pgNetKind})`, row.pgNet, null),
        ],
      },
    ],
  };
}

async function delayOfOne({ receiver }: Scene, way: Way): Promise<number> {
  await receiver.begin([]);
  const committed = await way.commit(1, [0]);
  await receiver.waitFor(1, TIMEOUT_MS);
  const { arrivals } = await receiver.report();
  return (arrivals[0]?.[1] ?? Number.NaN) - committed;
}

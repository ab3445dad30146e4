import type postgres from "postgres";
import type { BenchContext, Benchmark, Result } from "../benchmark.ts";
import { measureInTurn, quantile, type Spread, spreadOf, waitUntil } from "../measure.ts";
import { openScene, type Scene } from "./scene.ts";
import { keyframeWay, notifyWay, pgNetWay, type Way } from "./ways.ts";

const PATIENCE_MS = 30_000;
const FULL = { times: 300, quietTimes: 7 };
const QUICK = { times: 15, quietTimes: 0 };

/** pg_net pauses for up to a second after it sent, so it gets one in so many events. */
const PG_NET_EVERY = 10;

export const latencyBenchmark: Benchmark = {
  name: "latency",
  title: "From commit to received",
  work:
    "One event at a time, from COMMIT being sent until the receiver has it: 300 in a row with pauses of 10 to 60 ms, the ways in turn, and " +
    "a few after everything has been quiet for seconds. LISTEN/NOTIFY and pg_net post at once and record nothing that outlives them.",
  run: async (context) => {
    const { databaseUrl, extensions } = await context.stack();
    const scene = await openScene(databaseUrl);
    const ways: Way[] = [];
    try {
      for (const open of [keyframeWay, pgNetWay, notifyWay]) ways.push(await open(scene));
      return await compare(context, scene, ways, extensions.pg_net);
    } finally {
      for (const way of ways) await way.close();
      await scene.close();
    }
  },
};

async function compare({ quick, progress }: BenchContext, scene: Scene, ways: Way[], pgNet: string): Promise<Result> {
  const { times, quietTimes } = quick ? QUICK : FULL;
  for (const way of ways) await delayOfOne(scene, way);

  progress(`${times} in a row`);
  const inARow: number[][] = ways.map(() => []);
  for (let turn = 0; turn < times; turn++) {
    if (turn % 50 === 49) progress(`${turn + 1} of ${times} in a row`);
    for (const [index, way] of ways.entries()) {
      if (index === PG_NET && turn % PG_NET_EVERY !== 0) continue;
      await pause(10 + Math.random() * 50);
      inARow[index]?.push(await delayOfOne(scene, way));
    }
  }
  const afterQuiet = await measureInTurn(
    Object.fromEntries(
      ways.map((way) => [
        way.name,
        async () => {
          await waitUntil(() => isQuiet(scene.sql), { what: "workers and pg_net are idle", everyMs: 20 });
          return await delayOfOne(scene, way);
        },
      ]),
    ),
    quietTimes,
    (text) => progress(`after quiet, ${text}`),
  );
  const rows = ways.map(({ name }, index) => {
    const [row = [], quiet = []] = [inARow[index], afterQuiet[name]];
    return {
      name: index === PG_NET ? `${name} (${pgNet})` : name,
      row,
      cells: [point(row, 0.5), point(row, 0.95), quiet.length === 0 ? null : spreadOf(quiet)],
    };
  });
  const [ours = Number.NaN, ...others] = rows.map(({ row }) => quantile(row, 0.5));
  const [ourQuiet = Number.NaN, ...otherQuiets] = ways.map(({ name }) => quantile(afterQuiet[name] ?? [], 0.5));
  return {
    tables: [
      {
        caption: "From COMMIT to received",
        unit: "ms",
        columns: ["p50 of many in a row", "p95", "after quiet"],
        rows: rows.map(({ name, cells }) => ({ name, cells })),
      },
    ],
    aims: [
      { name: "p50 in a row, beside the fastest", ratio: single(ours / Math.min(...others)), atMost: 2 },
      // The quick run has none.
      ...(Number.isNaN(ourQuiet)
        ? []
        : [
            {
              name: "p50 after quiet, beside the fastest",
              ratio: single(ourQuiet / Math.min(...otherQuiets)),
              atMost: 2,
            },
          ]),
    ],
    notes: [`pg_net had ${rows[PG_NET]?.row.length} events in a row: it rests for up to a second after each.`],
  };
}

/** The index of pg_net among the ways. */
const PG_NET = 1;

async function delayOfOne({ receiver }: Scene, way: Way): Promise<number> {
  await receiver.begin([]);
  const committed = await way.commit(1, [0]);
  await receiver.waitFor(1, PATIENCE_MS);
  const { arrivals } = await receiver.report();
  return (arrivals[0] ?? Number.NaN) - committed;
}

const single = (value: number): Spread => spreadOf([value]);
const point = (values: number[], fraction: number): Spread => single(quantile(values, fraction));
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** pg_net pauses for up to a second after it sent. */
const PG_NET_PAUSE = "1.1 seconds";

/** Whether no worker is alive and pg_net has nothing to send and no pause left. */
async function isQuiet(sql: postgres.Sql): Promise<boolean> {
  const [row] = await sql<{ quiet: boolean }[]>`
    select not exists (select from keyframe_private.worker_heartbeats l where l.alive_until > clock_timestamp())
      and not exists (select from net.http_request_queue)
      and not exists (select from net._http_response r where r.created > clock_timestamp() - ${PG_NET_PAUSE}::interval) as quiet`;
  return row?.quiet === true;
}

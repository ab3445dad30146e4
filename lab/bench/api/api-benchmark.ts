import type { Aim, BenchContext, Benchmark, Cost, Result, Table } from "../benchmark.ts";
import { startLoad } from "../load.ts";
import { measureInTurn, ratioOf, spreadOf } from "../measure.ts";
import { CpuMeter } from "../memory/process-usage.ts";
import { makeUsers } from "../users.ts";
import { openWritten } from "../written/open-written.ts";
import { listOperations, type Operation } from "./operations.ts";

const MAX_CLIENTS = 8;
const CLIENTS = [1, MAX_CLIENTS];
const FULL = { rounds: 7, count: 80 };
const QUICK = { rounds: 1, count: 8 };
/** Provider runs do not begin while this measures, so that the simulator does not draw meanwhile. */
const LATER = { startDelayMs: 3_600_000, runDelayMs: 0 };

export const apiBenchmark: Benchmark = { name: "api", run: measureApi };

type Way = "api" | "written";
type Measured = { operation: Operation; clients: number; p50: Record<Way, number[]>; perSecond: Record<Way, number[]> };

async function measureApi({ quick, openStack, progress }: BenchContext): Promise<Result> {
  const stack = await openStack({ simulator: LATER });
  const load = startLoad();
  const written = await openWritten(stack);
  // A start is measured alone: what is started stays queued.
  stack.children.get("keyframe-generate")?.kill("SIGSTOP");
  await stack.sql`update keyframe_private.settings set max_active_per_owner = 1000`;
  const { rounds, count } = quick ? QUICK : FULL;
  try {
    const operations = await listOperations(stack, written.url, await makeUsers(stack, MAX_CLIENTS));
    const measured: Measured[] = [];
    const costs: Cost[] = [];
    for (const operation of operations)
      for (const clients of CLIENTS) {
        const total = clients === 1 ? count : count * 4;
        const perSecond: Record<Way, number[]> = { api: [], written: [] };
        const meter = new CpuMeter(stack.sql, [stack.children.get("api")?.pid ?? 0]);
        const run = async (way: Way, warmUp = 0) => {
          const send = () => load.run({ requests: operation[way], clients, count: total, warmUp });
          const done = way === "api" && warmUp === 0 ? await meter.during(total, send) : await send();
          await operation.tidy?.();
          return done;
        };
        for (const way of ["written", "api"] as const) await run(way, total); // frequent code is compiled, as in a running service
        const round = (way: Way) => async () => {
          const done = await run(way);
          perSecond[way].push(done.perSecond);
          return done.p50;
        };
        const ways = { api: round("api"), written: round("written") };
        const said = (text: string) => progress(`${operation.name}, ${clients} at once, ${text}`);
        measured.push({ operation, clients, perSecond, p50: await measureInTurn(ways, rounds, said) });
        if (clients > 1 && meter.cost) costs.push({ name: `${operation.name} (API)`, ...meter.cost });
      }
    return { aims: measured.map(aimOf), tables: [tableOf(measured)], costs };
  } finally {
    stack.children.get("keyframe-generate")?.kill("SIGCONT");
    await written.close();
    await load.close();
  }
}

const nameOf = ({ operation, clients }: Measured) =>
  `${operation.name}, ${clients === 1 ? "one client" : `${clients} clients`}`;

const aimOf = (one: Measured): Aim => ({
  name: `${nameOf(one)}: p50 in ms ÷ the written function's`,
  value: ratioOf(one.p50.api, one.p50.written),
  atMost: one.operation.atMost,
});

function tableOf(measured: Measured[]): Table {
  return {
    caption: "answers",
    columns: ["API, p50 ms", "the written function, p50 ms", "API, per second", "the written function, per second"],
    rows: measured.map((one) => ({
      name: nameOf(one),
      cells: [one.p50.api, one.p50.written, one.perSecond.api, one.perSecond.written].map(spreadOf),
    })),
  };
}

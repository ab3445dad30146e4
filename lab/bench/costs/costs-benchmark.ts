import postgres from "postgres";
import { makeProjects, makeRunning, makeUsers } from "../api/make-users.ts";
import { createByApi, readByApi, startByApi } from "../api/requests.ts";
import { type LoadRequest, startLoad } from "../api/load.ts";
import type { Benchmark, BenchContext, Result } from "../benchmark.ts";
import { spreadOf } from "../measure/spread.ts";
import { openDrainLoad } from "../memory/drain-deliveries.ts";
import { figure } from "../report/figures.ts";
import {
  CALLBACKS,
  COMPUTE_SIZES,
  type Costs,
  costOfMix,
  CPU_MS_OF_A_REQUEST,
  invocationsOfMix,
  MIX,
  PLANS,
  perSecond,
  SHARE,
} from "./capacity.ts";
import { measureHostedDelivery } from "./hosted-delivery.ts";
import { createMeter, type Used } from "./meter.ts";

const CLIENTS = 8;
const TIMES = {
  full: { requests: 2_000, runs: 400, deliveries: 10_000, idleSeconds: 10 },
  quick: { requests: 40, runs: 4, deliveries: 200, idleSeconds: 1 },
};
const LOOK_EVERY_MS = 100;
const PATIENCE_MS = 180_000;

export const costsBenchmark: Benchmark = {
  name: "costs",
  title: "What each thing costs",
  work: "Processor time and bytes for one of each, with nothing else under way: what docs/scale.md computes with.",
  document: "scale.md",
  run: measureCosts,
};

async function measureCosts(context: BenchContext): Promise<Result> {
  if (Deno.build.os !== "linux")
    return { aims: [], tables: [], notes: ["Not measured: only Linux tells what each process uses."] };
  const times = TIMES[context.quick ? "quick" : "full"];
  const stack = context.quick ? await context.stack() : await context.ownStack();
  const sql = postgres(stack.databaseUrl, { max: 2, onnotice: () => undefined });
  const load = startLoad();
  const drain = await openDrainLoad(stack.databaseUrl);
  try {
    const users = await makeUsers(stack, sql, CLIENTS);
    const projects = await makeProjects(sql, users);
    const running = await makeRunning(sql, projects);
    const each = (request: (user: (typeof users)[number], at: number) => LoadRequest) => users.map(request);
    const send = (requests: LoadRequest[], count: number, status: number) => async () =>
      void (await load.run({ requests, clients: CLIENTS, count, warmUp: 0, status }));

    const create = each(createByApi);
    const status = each((user, at) => readByApi(user, projects[at] ?? "", running[at] ?? ""));
    const start = each((user, at) => startByApi(user, projects[at] ?? ""));
    const untilEnded = () => waitUntilNoneRuns(sql, projects, running);
    const run = async (runs: number) => {
      await send(start, runs, 202)();
      await untilEnded();
    };

    context.progress("warms up, and looks at what is used by nothing");
    for (const [requests, answer] of [
      [create, 201],
      [status, 200],
    ] as const)
      await send(requests, CLIENTS, answer)();
    await run(CLIENTS);
    await drain.drain(200);
    await waitUntilNobodyLooks(sql);
    const meter = await createMeter(stack, sql, times.idleSeconds);

    const used = async (what: string, count: number, work: () => Promise<void>) => {
      context.progress(`${count} × ${what}`);
      return divide(await meter.measure(work), count);
    };
    const costs = {
      create: await used("a project made", times.requests, send(create, times.requests, 201)),
      status: await used("a status read", times.requests, send(status, times.requests, 200)),
      run: await used("a first frame, from start to stored", times.runs, () => run(times.runs)),
      delivery: await used("an event delivered", times.deliveries, () => drain.drain(times.deliveries)),
    };
    await waitUntilNobodyLooks(sql);
    context.progress("the same deliveries on the hosted platform's version of Deno");
    return describeCosts(costs, await measureHostedDelivery(stack, drain, times.deliveries));
  } finally {
    await drain.close();
    await load.close();
    await sql.end({ timeout: 1 });
  }
}

/** Of these projects, but for those that were made to run for ever. Throws when one has failed. */
async function waitUntilNoneRuns(sql: postgres.Sql, projects: string[], forever: string[]): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    const [left] = await sql<{ open: number; lost: number }[]>`
      select count(*) filter (where p.is_active)::int as open,
        count(*) filter (where p.status in ('failed', 'canceled'))::int as lost
      from keyframe.predictions p where p.project_id in ${sql(projects)} and p.id not in ${sql(forever)}`;
    if (left?.lost) throw new Error(`${left.lost} runs have failed.`);
    if (left?.open === 0) return;
    if (performance.now() > end) throw new Error(`${left?.open} runs have not ended after ${PATIENCE_MS / 1000} s.`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

/** Functions look for more work for a while after the last of it. */
async function waitUntilNobodyLooks(sql: postgres.Sql): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while ((await sql`select from keyframe_private.worker_heartbeats where alive_until > now()`).length > 0) {
    if (performance.now() > end) throw new Error(`A function looks for work after ${PATIENCE_MS / 1000} s.`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

function divide(used: Used, count: number): Used {
  const of = (key: keyof Used) => used[key] / count;
  return {
    postgres: of("postgres"),
    functions: of("functions"),
    wal: of("wal"),
    stored: of("stored"),
    kicks: of("kicks"),
    seconds: of("seconds"),
  };
}

type Measured = Record<keyof Costs, Used>;

const NAMES: Record<keyof Measured, string> = {
  create: "a project made (API)",
  status: "a status read, 200 (API)",
  run: "a first frame, from start to stored",
  delivery: "an event with one delivery, from commit to recorded",
};

/** `hostedDelivery`: ms of the function for one delivery on the hosted platform's version of Deno. */
function describeCosts(measured: Measured, hostedDelivery: number | null): Result {
  const rows = Object.entries(NAMES) as [keyof Measured, string][]; // its keys are those
  const once = (value: number) => spreadOf([value]);
  const kicks = { run: measured.run.kicks, delivery: measured.delivery.kicks };
  const storedOfMix = measured.run.stored + MIX.deliveries * measured.delivery.stored;
  const drained = (ms: number) => figure(CPU_MS_OF_A_REQUEST / ms);
  const ms = Object.fromEntries(rows.map(([key]) => [key, measured[key].postgres])) as Record<keyof Measured, number>; // each
  return {
    aims: [],
    tables: [
      {
        caption: "measured: processor time for one",
        unit: "ms",
        columns: ["Postgres", "functions"],
        rows: rows.map(([key, name]) => ({
          name,
          cells: [once(measured[key].postgres), once(measured[key].functions)],
        })),
      },
      {
        caption: "measured: written for one",
        unit: "kB",
        columns: ["rows and indexes", "write-ahead log", "kicks"],
        rows: rows.map(([key, name]) => {
          const { stored, wal, kicks } = measured[key];
          return { name, cells: [once(stored / 1000), once(wal / 1000), figure(kicks)] };
        }),
      },
      {
        caption: `computed: what the processors of one project carry, with ${SHARE * 100} % of them for this`,
        unit: "per second",
        columns: ["projects made", "status reads (200)", "first frames", "deliveries", "runs of the mix"],
        rows: COMPUTE_SIZES.map(({ name, cores }) => ({
          name,
          cells: [ms.create, ms.status, ms.run, ms.delivery, costOfMix(ms)].map((cost) =>
            // Too little of it to have been seen.
            cost === 0 ? null : once(perSecond(cores, cost)),
          ),
        })),
      },
      {
        caption: "computed: what a plan includes",
        unit: "runs of the mix",
        columns: ["by function invocations, a month", "by database size, in all"],
        rows: PLANS.map(({ name, invocations, databaseBytes }) => ({
          name,
          cells: [once(invocations / invocationsOfMix(kicks)), once(databaseBytes / storedOfMix)],
        })),
      },
    ],
    notes: [
      `The mix: a run, ${MIX.statusReads} looks at its status, and ${MIX.deliveries} deliveries. Its calls of functions: ${figure(invocationsOfMix(kicks))}, of which ${CALLBACKS} are the provider's callbacks.`,
      hostedDelivery === null
        ? "What one request of deliver may send on the hosted platform's version of Deno: not measured, it is not installed."
        : `Computed: one request of deliver may send ${drained(hostedDelivery)} deliveries until its ${CPU_MS_OF_A_REQUEST / 1000} s of processor time are used up, by what one takes on the hosted platform's version of Deno (2.1): ${figure(hostedDelivery)} ms. On this version: ${drained(measured.delivery.functions)}.`,
      "Computed as if a core there were one of this machine. Postgres' time holds what the gateway's own statements take, which stand for PostgREST's.",
    ],
  };
}

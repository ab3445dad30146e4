import type { Aim, BenchContext, Benchmark, Cost, Result } from "./benchmark.ts";
import { openFrames } from "./flow-benchmark.ts";
import { type LoadRequest, runLoad } from "./load.ts";
import { measureInTurn, ratioOf } from "./measure.ts";
import { CpuMeter } from "./process-usage.ts";
import { createProject, readFrame, startFrame, startWrittenFrame, storeWrittenFrame } from "./requests.ts";
import type { BenchStack } from "./stack.ts";
import { type BenchUser, makeUsers } from "./users.ts";
import { openWritten } from "./written/open-written.ts";

const MAX_CLIENTS = 8;
const CLIENTS = [1, MAX_CLIENTS];
const FULL = { rounds: 5, count: 80 };
const QUICK = { rounds: 1, count: 8 };

export const apiBenchmark: Benchmark = { name: "api", run: measureApi };

type Way = "api" | "written";
/** The same operation by the API and by the written function, a request of each user, and the aim for the ratio of both p50. */
type Operation = { name: string; atMost: number } & Record<Way, LoadRequest[]>;
type Measured = { operation: Operation; clients: number; p50: Record<Way, number[]> };

async function measureApi({ quick, openStack, progress }: BenchContext): Promise<Result> {
  const { rounds, count } = quick ? QUICK : FULL;
  const stack = await openStack();
  const users = await makeUsers(stack, MAX_CLIENTS);
  const written = await openWritten(stack);
  try {
    const operations = await listOperations(stack, written.url, users);
    const measured: Measured[] = [];
    const costs: Cost[] = [];
    for (const operation of operations)
      for (const clients of CLIENTS) {
        const total = clients === 1 ? count : count * 4;
        const meter = new CpuMeter(stack.sql, [stack.children.get("api")?.pid ?? 0]);
        const send = (way: Way) => async () => {
          const { p50 } = await runLoad({ requests: operation[way], clients, count: total });
          // They would all be active, and each start counts the active ones.
          await stack.sql`delete from keyframe.predictions where status = 'queued'`;
          return p50;
        };
        for (const way of ["written", "api"] as const) await send(way)(); // frequent code is compiled, as in a running service
        const ways = { api: () => meter.during(total, send("api")), written: send("written") };
        const said = (text: string) => progress(`${operation.name}, ${clients} at once, ${text}`);
        measured.push({ operation, clients, p50: await measureInTurn(ways, rounds, said) });
        if (clients > 1 && meter.cost) costs.push({ name: `${operation.name} (API)`, ...meter.cost });
      }
    const statusMs = costs.at(-1)?.postgres;
    const aims = measured.map(aimOf).concat(await measureBalance(stack, users, rounds, count * 4, progress));
    return {
      aims,
      costs,
      figures: statusMs === undefined ? {} : { statusMs },
    };
  } finally {
    stack.children.get("keyframe-generate")?.kill("SIGCONT");
    await written.stop();
  }
}

async function listOperations(stack: BenchStack, written: string, users: BenchUser[]): Promise<Operation[]> {
  const { sql, simulator, children } = stack;
  const api = `${stack.functionUrls.api}/api`;
  const by = (to: string, request: (to: string, user: BenchUser, projectId: string) => LoadRequest) =>
    users.map((user) => request(to, user, user.projectId));
  // A finished frame of each user in both.
  await openFrames(stack, users)(users.length);
  const requests = by(written, storeWrittenFrame);
  await runLoad({ requests, clients: users.length, count: users.length });
  const frames = await sql<{ table: string; id: string; owner: string }[]>`
    select 'api' as table, id, owner_id as owner from keyframe.predictions union all select 'written', id, owner_id from public.written_predictions`;
  const frameOf = (way: Way, user: BenchUser) =>
    frames.find(({ table, owner }) => table === way && owner === user.id)?.id ?? "";
  // Only the start is measured: predictions stay queued, and no provider run continues.
  children.get("keyframe-generate")?.kill("SIGSTOP");
  await fetch(`${simulator?.url}/control/delays`, { method: "POST", body: JSON.stringify({ start_ms: 3_600_000 }) });
  await sql`update keyframe_private.settings set max_active_per_owner = 1000`;
  return [
    { name: "create", api: by(api, createProject), written: by(written, createProject), atMost: 0.75 },
    { name: "start", api: by(api, startFrame), written: by(written, startWrittenFrame), atMost: 0.8 },
    {
      name: "status, finished",
      api: users.map((user) =>
        readFrame(`${api}/projects/generate/first-frame`, user, user.projectId, frameOf("api", user)),
      ),
      written: users.map((user) => readFrame(`${written}/first-frame`, user, user.projectId, frameOf("written", user))),
      atMost: 0.55,
    },
  ];
}

/** The processor time of Postgres for a start of a user who pays by balance; no aim where it cannot be measured. */
async function measureBalance(
  stack: BenchStack,
  users: BenchUser[],
  rounds: number,
  count: number,
  progress: BenchContext["progress"],
): Promise<Aim[]> {
  const { sql } = stack;
  const payers = await makeUsers(stack, MAX_CLIENTS);
  for (const { id } of payers) await sql`select keyframe_private.add_credit(${id}, 1000000000000, 'grant')`;
  const meter = () => new CpuMeter(sql, [], false);
  const meters = { without: meter(), with: meter() };
  const start = (starters: BenchUser[], by: CpuMeter) => async () => {
    const requests = starters.map((user) => startFrame(`${stack.functionUrls.api}/api`, user, user.projectId));
    const { p50 } = await by.during(count, () => runLoad({ requests, clients: MAX_CLIENTS, count }));
    await sql`delete from keyframe.predictions where status = 'queued'`;
    return p50;
  };
  await start(payers, meter())(); // plans are made
  const ways = { without: start(users, meters.without), with: start(payers, meters.with) };
  await measureInTurn(ways, rounds, (text) => progress(`starts and a balance, ${text}`));
  if (meters.with.cost === null) return [];
  const postgres = (by: CpuMeter) => by.rounds.map((round) => round.postgres);
  const name = "processor time of Postgres for a start with a balance: ms ÷ without one";
  return [{ name, value: ratioOf(postgres(meters.with), postgres(meters.without)), atMost: 1.1 }];
}

const nameOf = ({ operation, clients }: Measured) =>
  `${operation.name}, ${clients === 1 ? "one client" : `${clients} clients`}`;

const aimOf = (one: Measured): Aim => ({
  name: `${nameOf(one)}: p50 in ms ÷ the written function's`,
  value: ratioOf(one.p50.api, one.p50.written),
  atMost: one.operation.atMost,
});

import { pause } from "../../../shared/platform/pause.ts";
import type { BenchContext, Benchmark, Result } from "../benchmark.ts";
import { quantile, spreadOf, waitUntil } from "../measure.ts";
import type { BenchStack } from "../stack.ts";
import { openReceiver } from "./receiver.ts";
import { ENDPOINTS, openScene, type Scene } from "./scene.ts";
import { wallClock } from "./ways.ts";

/** Four endpoints for each owner, and a delivery of each event to each of them. */
const FULL = { owners: 5_000, events: 50_000, everyMs: 700, healthEveryMs: 2_000, seconds: 60, claims: 300 };
const QUICK = { owners: 250, events: 2_500, everyMs: 50, healthEveryMs: 200, seconds: 10, claims: 20 };
const ENDPOINTS_EACH = 4;
const ARRIVAL_MS = 60_000;

type Size = typeof FULL;

export const crowdBenchmark: Benchmark = { name: "crowd", run: measureCrowd };

async function measureCrowd({ quick, openStack, progress }: BenchContext): Promise<Result> {
  const size = quick ? QUICK : FULL;
  const stack = await openStack();
  const scene = await openScene(stack.databaseUrl);
  const crowd = await openReceiver();
  try {
    const [endpoints, deliveries] = [size.owners, size.events].map((count) => count * ENDPOINTS_EACH);
    const without = await claimMs(stack, size);
    progress(`${deliveries} deliveries to ${endpoints} endpoints`);
    await fill(stack, size, crowd.url(0));
    await waitUntil(async () => !(await isDue(stack)), { what: "nothing is due", everyMs: 100 });
    progress("claims with nothing due");
    const idle = await claimMs(stack, size);
    // Of a new database: the sweep has not run yet.
    await waitUntil(async () => (await readProblem(stack)) === "", { what: "health is ok", everyMs: 100 });
    progress("everything is due");
    await makeDue(stack);
    const began = performance.now();
    const over = new AbortController();
    const receive = async () => {
      await crowd.waitFor(Number(deliveries), size.seconds * 1000).catch(() => undefined); // what has come is enough
      over.abort();
      return ((await crowd.report()).requests / (performance.now() - began)) * 1000;
    };
    const [delays, problems, perSecond] = await Promise.all([
      sendSingles(scene, size.everyMs, over.signal),
      askHealth(stack, size.healthEveryMs, over.signal, progress),
      receive(),
    ]);
    const at = (values: number[], fraction: number) => spreadOf([quantile(values, fraction)]);
    const row = (name: string, ms: number[]) => ({ name, cells: [at(ms, 0.5), at(ms, 0.95), ms.length] });
    const notOk = problems.filter((problem) => problem !== "").length;
    const [all, of] = [deliveries, endpoints].map((count) => count?.toLocaleString("en-US"));
    return {
      aims: [
        {
          name: "a single event of another owner: p50 in s",
          value: spreadOf([quantile(delays.inTurn, 0.5) / 1000]),
          atMost: 5,
        },
        { name: "a claim with nothing due, p50 in ms", value: at(idle, 0.5), atMost: 5 },
        { name: `of ${problems.length} answers of health meanwhile, not ok`, value: spreadOf([notOk]), atMost: 0 },
      ],
      tables: [
        {
          caption: `${all} deliveries due at ${of} endpoints of ${size.owners.toLocaleString("en-US")} owners: ms`,
          columns: ["p50", "p95", "of"],
          rows: [
            row(`an event every ${size.everyMs / 1000} s of another owner, from COMMIT to received`, delays.steady),
            row("an event of an owner who has one now and then", delays.inTurn),
            row("a claim with nothing due at so many endpoints", idle),
            row("a claim with twenty endpoints", without),
            { name: "deliveries of the crowd in a second", cells: [spreadOf([perSecond]), null, null] },
          ],
        },
      ],
    };
  } finally {
    await crowd.close();
    await scene.close();
  }
}

/** Half of the endpoints are disabled; the deliveries of the others are to be tried again tomorrow. */
async function fill({ sql }: BenchStack, { owners, events }: Size, url: string): Promise<void> {
  await sql`
    with crowd as (
      insert into auth.users (id, email) select gen_random_uuid(), 'crowd-' || i || '@keyframe.local' from generate_series(1, ${owners}::int) i
      returning id)
    insert into keyframe.webhook_endpoints (owner_id, url) select c.id, ${url} from crowd c, generate_series(1, ${ENDPOINTS_EACH}::int)`;
  await sql.begin(async (sql) => {
    await sql`
      insert into keyframe.projects (owner_id, title, text_prompt)
      select u.id, 'Event ' || n, repeat('A harbour at dawn. ', 36)
      from auth.users u, generate_series(1, ${Math.ceil(events / owners)}::int) n where u.email like 'crowd-%'`;
    await sql`update keyframe.webhook_deliveries set next_attempt_at = now() + interval '1 day' where status = 'pending'`;
    await sql`update keyframe.webhook_endpoints set enabled = false where url = ${url} and hashtext(id::text) % 2 = 0`;
  });
  await sql`vacuum analyze keyframe.webhook_endpoints, keyframe.webhook_deliveries, keyframe.webhook_events, keyframe_private.lanes`;
}

async function makeDue({ sql }: BenchStack): Promise<void> {
  await sql.begin(async (sql) => {
    await sql`update keyframe.webhook_deliveries set next_attempt_at = now() where status = 'pending'`;
    await sql`update keyframe.webhook_endpoints set enabled = true where not enabled`;
  });
}

const isDue = async ({ sql }: BenchStack): Promise<boolean> =>
  (await sql<{ due: boolean }[]>`select keyframe_private.has_due_delivery(now()) as due`)[0]?.due ?? false;

/** How long claims take that find nothing. */
async function claimMs({ sql }: BenchStack, { claims }: Size): Promise<number[]> {
  const connection = await sql.reserve();
  try {
    const took: number[] = [];
    while (took.length < claims) {
      const began = performance.now();
      await connection`
        select keyframe_worker.exchange_deliveries(
          results => '[]', held => '[]', max_lanes => 100, lease_seconds => 3)`;
      took.push(performance.now() - began);
    }
    return took;
  } finally {
    connection.release();
  }
}

/** How long single events took from COMMIT to their receiver, in ms: of an owner who has one each time, and of nineteen in turn. */
type Delays = { steady: number[]; inTurn: number[] };

async function sendSingles({ sql, receiver }: Scene, everyMs: number, over: AbortSignal): Promise<Delays> {
  const sent = new Map<string, { at: number; of: keyof Delays }>();
  let ticks = 0;
  await repeat(everyMs, over, async () => {
    const at = wallClock();
    const inTurn = 1 + (ticks++ % (ENDPOINTS.length - 1));
    const rows = await sql<{ id: string; isSteady: boolean }[]>`
      insert into keyframe.projects (owner_id, title, text_prompt)
      select e.owner_id, 'Single', 'p' from bench.endpoints e where e.number in (0, ${inTurn}::int)
      returning id, owner_id = (select e.owner_id from bench.endpoints e where e.number = 0) as "isSteady"`;
    for (const { id, isSteady } of rows) sent.set(id, { at, of: isSteady ? "steady" : "inTurn" });
  });
  await receiver.waitFor(sent.size, ARRIVAL_MS).catch(() => undefined); // what has not come counts as late as now
  const end = wallClock();
  const arrived = new Map((await receiver.report()).arrivals);
  const events = await sql<{ id: string; project_id: string }[]>`
    select v.id, v.project_id from keyframe.webhook_events v where v.project_id in ${sql([...sent.keys()])}`;
  const delays: Delays = { steady: [], inTurn: [] };
  for (const { id, project_id } of events) {
    const { at, of } = sent.get(project_id) ?? { at: Number.NaN, of: "steady" };
    delays[of].push((arrived.get(id) ?? end) - at);
  }
  return delays;
}

/** Asks until it is over. Returns the problems of each answer; "" is ok. */
async function askHealth(
  stack: BenchStack,
  everyMs: number,
  over: AbortSignal,
  progress: (text: string) => void,
): Promise<string[]> {
  const problems: string[] = [];
  await repeat(everyMs, over, async () => {
    const problem = await readProblem(stack);
    if (problem !== "") progress(`health is not ok: ${problem}`);
    problems.push(problem);
  });
  return problems;
}

async function readProblem({ url, keys }: BenchStack): Promise<string> {
  const response = await fetch(`${url}/functions/v1/api/health?deep=1`, { headers: { apikey: keys.secretKey } });
  const { data, error } = await response.json();
  return data === null ? String(error.message) : data.problems.join(" ");
}

/** Starts the work again and again, everyMs after it was last started or when it has ended. */
async function repeat(everyMs: number, over: AbortSignal, work: () => Promise<void>): Promise<void> {
  do await Promise.all([work(), pause(everyMs, over)]);
  while (!over.aborted);
}

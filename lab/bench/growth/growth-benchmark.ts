import { createProject, get, readFrame } from "../api/operations.ts";
import type { BenchContext, Benchmark, Result } from "../benchmark.ts";
import { runBurst } from "../deliver/burst.ts";
import { ENDPOINTS, openScene } from "../deliver/scene.ts";
import { keyframeWay } from "../deliver/ways.ts";
import { openFrames } from "../flow-benchmark.ts";
import { type Load, type LoadRequest, startLoad } from "../load.ts";
import { measureInTurn, ratioOf, type Spread, spreadOf } from "../measure.ts";
import type { BenchStack } from "../stack.ts";
import { makeUsers, openSession } from "../users.ts";
import { measureUsage } from "./usage.ts";

const FULL = { sizes: [10_000, 1_000_000], rounds: 11, requests: 40, events: 2_000 };
const QUICK = { sizes: [5_000, 6_000], rounds: 1, requests: 4, events: 200 };

export const growthBenchmark: Benchmark = { name: "growth", run: measureGrowth };

/** What is measured at each size: ms, by the name of the operation. */
type Operations = Record<string, () => Promise<number>>;

async function measureGrowth({ quick, openStack, progress }: BenchContext): Promise<Result> {
  const { sizes, rounds, requests, events } = quick ? QUICK : FULL;
  const load = startLoad();
  const closes: (() => Promise<void>)[] = [load.close];
  try {
    const each: Operations[] = [];
    let usage: Awaited<ReturnType<typeof measureUsage>> | undefined;
    for (const size of sizes) {
      const stack = await openStack();
      await fill(stack, size, progress);
      if (size === Math.max(...sizes)) usage = await measureUsage(stack.sql, rounds);
      const scene = await openScene(stack.databaseUrl);
      closes.push(scene.close);
      const frames = await openFrames(stack, await makeUsers(stack, 1), load);
      const burst = async () => (await runBurst(scene, keyframeWay(scene), { events, endpoints: ENDPOINTS })).took;
      each.push({
        ...(await listReads(stack, load, requests)),
        [`${events.toLocaleString("en-US")} events delivered`]: burst,
        "a first frame, from start to stored": () => frames.make(1),
      });
    }
    const [small = {}, large = {}] = each;
    const rows: { name: string; cells: Spread[] }[] = [];
    const ratios: [string, Spread][] = [];
    for (const [name, inSmall] of Object.entries(small)) {
      progress(name);
      const ways = { small: inSmall, large: large[name] ?? inSmall };
      await measureInTurn(ways, 2, () => undefined); // fills the caches and makes the plans
      const ms = await measureInTurn(ways, rounds, () => undefined);
      const ratio = ratioOf(ms.large, ms.small);
      ratios.push([name, ratio]);
      rows.push({ name, cells: [spreadOf(ms.small), spreadOf(ms.large), ratio] });
    }
    const [[worst, value] = ["", spreadOf([1])]] = ratios.toSorted(([, a], [, b]) => b.median - a.median);
    const columns = [...sizes.map((size) => `${size.toLocaleString("en-US")} predictions`), "ratio"];
    return {
      aims: [{ name: `the largest ratio of ms (${worst})`, value, atMost: 1.3 }, ...(usage ? [usage.aim] : [])],
      tables: [{ caption: "ms", columns, rows }, ...(usage ? [usage.table] : [])],
    };
  } finally {
    for (const close of closes) await close();
  }
}

/** Requests of the owner of a tenth of all rows, one after the other; p50. */
async function listReads(stack: BenchStack, load: Load, count: number): Promise<Operations> {
  const { sql } = stack;
  const api = `${stack.functionUrls.api}/api`;
  const [hot] = await sql<Record<"owner" | "project" | "endpoint" | "frame", string>[]>`
    select md5('owner 1')::uuid as owner, md5('project 10')::uuid as project, md5('endpoint 0')::uuid as endpoint,
      (select p.id from keyframe.predictions p where p.project_id = md5('project 10')::uuid and p.step = 'first-frame' and p.status = 'succeeded' limit 1) as frame`;
  if (!hot) throw new Error("The fill has left nothing.");
  const caller = await openSession(stack, hot.owner);
  const p50 = (request: LoadRequest) => async () =>
    (await load.run({ requests: [request], clients: 1, count, warmUp: 2 })).p50;
  const page = (path: string) => get(caller, `${api}/${path}`, '"nextCursor":"'); // there is a next page
  // The service-wide endpoint has a delivery of every event.
  const deliveries = (query: string) => ({
    ...page(`webhooks/${hot.endpoint}/deliveries?limit=20${query}`),
    headers: { apikey: stack.keys.secretKey },
  });
  return {
    "create a project": p50(createProject(api, caller)),
    status: p50(readFrame(api, caller, hot.project, hot.frame)),
    "a page of projects": p50(page("projects?limit=20&include=predictions")),
    "a page of predictions": p50(page(`projects/${hot.project}/predictions?limit=20`)),
    "a page of deliveries": p50(deliveries("")),
    "a page of exhausted deliveries": p50(deliveries("&status=exhausted")),
  };
}

const TABLES = [
  "keyframe.projects",
  "keyframe.predictions",
  "keyframe_private.provider_submits",
  "keyframe_private.daily_costs",
  "keyframe.webhook_endpoints",
  "keyframe.webhook_events",
  "keyframe.webhook_deliveries",
  "keyframe.webhook_attempts",
];

/** Fills a new database with a history, without triggers. Indexes are built afterwards, which is faster. */
async function fill({ sql }: BenchStack, predictions: number, progress: (text: string) => void): Promise<void> {
  const text = await Deno.readTextFile(new URL("fill.sql", import.meta.url));
  const owners = Math.max(100, predictions / 100);
  const [, ...steps] = text
    .replaceAll(":predictions", String(predictions))
    .replaceAll(":owners", String(owners))
    .split("-- step: ");
  const session = await sql.reserve();
  try {
    await session.unsafe(`
      set session_replication_role = replica; set synchronous_commit = off; set work_mem = '64MB'; set maintenance_work_mem = '256MB';
      update pg_index set indisready = false, indisvalid = false where indrelid = any (array['${TABLES.join("', '")}']::regclass[])`);
    for (const step of steps) {
      const [name = "", ...statements] = step.split("\n");
      progress(`${predictions.toLocaleString("en-US")} predictions: ${name}`);
      if (name === "predictions") await session.unsafe("reindex table keyframe.projects"); // the next joins need it
      await session.unsafe(statements.join("\n"));
    }
    progress("indexes and statistics");
    for (const table of TABLES) await session.unsafe(`reindex table ${table}`);
    await session.unsafe(`vacuum (analyze) ${TABLES.join(", ")}, auth.users`);
  } finally {
    await session.unsafe("reset all");
    session.release();
  }
}

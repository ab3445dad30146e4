import type { BenchContext, Benchmark, Result } from "../benchmark.ts";
import { openScene, type Scene } from "../deliver/scene.ts";
import { runBurst } from "../deliver/runs.ts";
import { keyframeWay } from "../deliver/ways.ts";
import { openFrames } from "../flow-benchmark.ts";
import { type LoadRequest, runLoad } from "../load.ts";
import { measureInTurn, ratioOf, spreadOf } from "../measure.ts";
import { createProject, get } from "../requests.ts";
import { type BenchUser, makeUsers } from "../users.ts";

const FULL = { sizes: [10_000, 1_000_000], rounds: 9, requests: 40, events: 2_000 };
const QUICK = { sizes: [5_000, 6_000], rounds: 1, requests: 4, events: 200 };
/** Rounds that fill the caches and make the plans. */
const WARM_UPS = 2;
/** Of all predictions, in fill.sql. */
const SHARE_OF_OWNER = 0.14;

export const growthBenchmark: Benchmark = { name: "growth", run: measureGrowth };

type Settings = typeof FULL;
/** The measurements at each size: ms, by the name of the operation. */
type Operations = Record<string, () => Promise<number>>;

async function measureGrowth({ quick, openStack, progress }: BenchContext): Promise<Result> {
  const settings = quick ? QUICK : FULL;
  const { sizes, rounds } = settings;
  const scenes: Scene[] = [];
  try {
    const each: Operations[] = [];
    let usage: number[] = []; // of the largest, which is the last
    const bytes: number[] = [];
    for (const size of sizes) {
      progress(`fills ${format(size)} predictions`);
      const scene = await openScene(await openStack());
      scenes.push(scene);
      const owner = (await makeUsers(scene, 1))[0] as BenchUser; // one was made
      await fill(scene, size, owner);
      const [database] = await scene.sql<
        { bytes: number }[]
      >`select pg_database_size(current_database())::float8 as bytes`;
      bytes.push(database?.bytes ?? Number.NaN);
      usage = await measureUsage(scene, owner, rounds);
      each.push(await listOperations(scene, owner, settings));
    }
    const [small = {}, large = {}] = each;
    const rows = [];
    for (const [name, inSmall] of Object.entries(small)) {
      progress(name);
      const ways = { small: inSmall, large: large[name] ?? inSmall };
      await measureInTurn(ways, WARM_UPS, () => undefined);
      const ms = await measureInTurn(ways, rounds, () => undefined);
      rows.push({ name, ratio: ratioOf(ms.large, ms.small) });
    }
    const [worst = { name: "", ratio: spreadOf([]) }] = rows.toSorted(
      (one, next) => next.ratio.median - one.ratio.median,
    );
    const owned = format(Math.max(...sizes) * SHARE_OF_OWNER);
    const usageName = `a month's usage of an owner with ${owned} predictions, ms in Postgres (by day)`;
    return {
      aims: [
        { name: `the largest ratio of ms (${worst.name})`, value: worst.ratio, atMost: 1.3 },
        { name: usageName, value: spreadOf(usage), atMost: 5 },
      ],
      figures: {
        predictionBytes: (Math.max(...bytes) - Math.min(...bytes)) / (Math.max(...sizes) - Math.min(...sizes)),
      },
    };
  } finally {
    for (const { receiver } of scenes) await receiver.close();
  }
}

const format = (count: number) => count.toLocaleString("en-US");

/** Gives a new database a history. */
async function fill({ sql }: Scene, predictions: number, { id }: BenchUser): Promise<void> {
  const text = await Deno.readTextFile(new URL("fill.sql", import.meta.url));
  const session = await sql.reserve();
  for (const statement of text.replaceAll(":predictions", `${predictions}`).replaceAll(":owner", id).split(/;\n/))
    await session.unsafe(statement);
  session.release();
}

/** Requests of the owner, one after the other (p50), and the work of workers and scheduled jobs. */
async function listOperations(scene: Scene, owner: BenchUser, { requests, events }: Settings): Promise<Operations> {
  const { sql, functionUrls, keys } = scene;
  const api = `${functionUrls.api}/api`;
  const [found] = await sql<{ project: string; frame: string; endpoint: string }[]>`
    select p.project_id as project, p.id as frame, e.id as endpoint from keyframe.predictions p, keyframe.webhook_endpoints e
    where p.project_id = md5('project 10')::uuid and p.step = 'first-frame' and p.status = 'succeeded' and e.owner_id is null limit 1`;
  if (!found) throw new Error("The fill has left nothing.");
  const p50 = (request: LoadRequest) => async () =>
    (await runLoad({ requests: [request], clients: 1, count: requests })).p50;
  const page = (path: string) => get(`${api}/${path}`, owner, '"nextCursor":"'); // there is a next page
  const deliveries = (query: string) => ({
    ...page(`webhooks/${found.endpoint}/deliveries?limit=20${query}`),
    headers: { apikey: keys.secretKey }, // the endpoint is service-wide and has a delivery of every event
  });
  const frame = new URLSearchParams({ projectId: found.project, predictionId: found.frame });
  const makeFrames = openFrames(scene, [owner]);
  return {
    "create a project": p50(createProject(api, owner)),
    status: p50(get(`${api}/projects/generate/first-frame?${frame}`, owner, found.frame)),
    "a page of projects": p50(page("projects?limit=20&include=predictions")),
    "a page of predictions": p50(page(`projects/${found.project}/predictions?limit=20`)),
    "a page of deliveries": p50(deliveries("")),
    "a page of exhausted deliveries": p50(deliveries("&status=exhausted")),
    [`${format(events)} events delivered`]: () => runBurst(scene, keyframeWay(scene), events),
    "a first frame, from start to stored": () => makeFrames(1),
    "the sweep and the pruning": async () => {
      const began = performance.now();
      for (let run = 0; run < requests; run++) await sql`select keyframe_private.sweep(), keyframe_private.prune()`;
      return (performance.now() - began) / requests;
    },
  };
}

/** ms of `read_usage` of a month in Postgres. */
async function measureUsage({ sql }: Scene, { id: sub }: BenchUser, rounds: number): Promise<number[]> {
  const ms: number[] = [];
  await sql.begin(async (session) => {
    await session`select set_config('request.jwt.claims', ${JSON.stringify({ sub, role: "authenticated" })}, true)`;
    while (ms.length < WARM_UPS + rounds) {
      const [plan] = await session<{ "QUERY PLAN": { "Execution Time": number }[] }[]>`
        explain (analyze, format json) select keyframe.read_usage(current_date - 30, current_date, 'day')`;
      ms.push(plan?.["QUERY PLAN"][0]?.["Execution Time"] ?? Number.NaN);
    }
  });
  return ms.slice(WARM_UPS);
}

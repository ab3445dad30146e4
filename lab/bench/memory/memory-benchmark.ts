import { fileURLToPath } from "node:url";
import { createKeyframeClient, mustSucceed } from "../../../client/index.ts";
import { type FunctionName, functionArguments } from "../../../local/stack/function-arguments.ts";
import { pause } from "../../../shared/platform/retry.ts";
import type { Aim, BenchContext, Benchmark, Result } from "../benchmark.ts";
import { openScene } from "../deliver/scene.ts";
import { endlessVideo, hostileFile, hostileNames } from "./hostile-files.ts";
import { runBurst } from "../deliver/runs.ts";
import { keyframeWay } from "../deliver/ways.ts";
import { type LoadRequest, runLoad } from "../load.ts";
import { spreadOf } from "../measure.ts";
import { spawnDeno } from "../processes.ts";
import type { BenchStack, Caller } from "../stack.ts";
import { residentMb, watchMemory } from "../process-usage.ts";

const FULL = { deliveries: 60_000, videoMb: 200, times: 3, calls: 1_000 };
const QUICK = { deliveries: 1_000, videoMb: 20, times: 1, calls: 20 };
const WARM_UP_CALLS = 20;
const WARM_UP_DELIVERIES = 200;
const WARM_UP_BYTES = 1_000_000;

export const memoryBenchmark: Benchmark = { name: "memory", run: measureMemory };

/** In MB: before the work, and the maximum during each part. */
type Measured = { idle: number; peaks: number[] };

async function measureMemory({ quick, openStack, progress }: BenchContext): Promise<Result> {
  const { deliveries, videoMb, times, calls } = quick ? QUICK : FULL;
  const stack = await openStack();
  const aims: Aim[] = [];
  const measure = async (what: string, atMost: number, work: () => Promise<Measured>) => {
    progress(what);
    const { idle, peaks } = await work();
    aims.push({ name: `${what}: MB above idle`, value: spreadOf(peaks.map((peak) => peak - idle)), atMost });
  };

  const scene = await openScene(stack);
  const send = (events: number) => runBurst(scene, keyframeWay(scene), events);
  await measure(`deliver, ${deliveries.toLocaleString("en-US")} deliveries of 1 KB`, 100, async () => {
    await send(WARM_UP_DELIVERIES);
    return await watchDuring(stack, "keyframe-deliver", 1, () => send(deliveries));
  }).finally(() => scene.receiver.close());

  const bytes = videoMb * 1_000_000;
  const store = await openVideos(stack.caller);
  await measure(`generate, a video of ${videoMb} MB`, 128, async () => {
    await store("output_padded", WARM_UP_BYTES);
    return await watchDuring(stack, "keyframe-generate", times, () => store("output_padded", bytes));
  });

  await measure(`generate, a hostile file of ${videoMb} MB`, 128, async () => {
    for (const file of hostileNames)
      await fetch(`${stack.simulator?.url}/control/files/${file}`, { method: "PUT", body: hostileFile(file, bytes) });
    const files = hostileNames.values();
    // Whether it is stored or refused is known at its end.
    const storeNext = () =>
      store("output_file", bytes, files.next().value).catch((error) => {
        if (error.code !== "output_not_usable") throw error;
      });
    return await watchDuring(stack, "keyframe-generate", hostileNames.length, storeNext);
  });

  const reads = `keyframe-mcp, ${calls.toLocaleString("en-US")} reads of a project with its picture`;
  await measure(reads, 100, async () => {
    const read = await readByAgent(stack.caller);
    const readTimes = (count: number) => runLoad({ requests: [read], clients: 8, count });
    await readTimes(WARM_UP_CALLS);
    return await watchDuring(stack, "keyframe-mcp", 1, () => readTimes(calls));
  });

  const [row] = await stack.sql<{ copies: number }[]>`select keyframe_private.capacity_of('copy') as copies`;
  const copies = row?.copies ?? 0;
  await measure(`generate, ${copies} copies of videos while Storage reads nothing`, 118, () =>
    watchStalledCopies(copies),
  );
  return { aims };
}

/** Repeats some work and watches the memory of the function that does it. */
async function watchDuring(
  stack: BenchStack,
  name: FunctionName,
  times: number,
  work: () => Promise<unknown>,
): Promise<Measured> {
  const pid = stack.children.get(name)?.pid;
  if (pid === undefined) throw new Error(`${name} does not run.`);
  const idle = await residentMb(pid);
  const peaks: number[] = [];
  for (let time = 0; time < times; time++) {
    const watch = watchMemory(pid);
    await work().finally(() => watch.stop());
    peaks.push(await watch.stop());
  }
  if (stack.children.get(name)?.pid !== pid) throw new Error(`${name} was restarted meanwhile.`);
  return { idle, peaks };
}

/** After this the buffers of all copies are full. */
const STALLED_MS = 5_000;

/** The copies run in their own process, with an output's host that is fast and a Storage that accepts no body. */
async function watchStalledCopies(copies: number): Promise<Measured> {
  const idle = Promise.withResolvers<number>();
  const open = new AbortController();
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => undefined }, async ({ url }) => {
    const { pathname } = new URL(url);
    if (pathname === "/video") return new Response(endlessVideo());
    if (pathname === "/idle") residentMb(child.pid).then(idle.resolve, idle.reject);
    else await new Promise((resolve) => open.signal.addEventListener("abort", resolve));
    await idle.promise;
    return new Response();
  });
  const address = `127.0.0.1:${server.addr.port}`;
  const file = fileURLToPath(new URL("stalled-copies.ts", import.meta.url));
  const args = functionArguments("keyframe-generate", 0, [address]).slice(0, -1);
  const child = spawnDeno([...args, file, String(copies), `http://${address}`], {});
  child.ended.addEventListener("abort", () => idle.reject(new Error("The process of the copies ended.")));
  try {
    const idleMb = await idle.promise;
    const watch = watchMemory(child.pid);
    await pause(STALLED_MS);
    return { idle: idleMb, peaks: [await watch.stop()] };
  } finally {
    await child.stop();
    open.abort();
    await server.shutdown();
  }
}

const VIDEO_TIMEOUT_MS = 180_000;

type StoreVideo = (fault: "output_padded" | "output_file", bytes: number, value?: unknown) => Promise<void>;

/** A tool call of an agent for the newest project. */
async function readByAgent({ url, apikey, token }: Caller): Promise<LoadRequest> {
  const { projects } = await createKeyframeClient({ url, apikey, getToken: () => token }).projects.list({ limit: 1 });
  const params = { name: "read_project", arguments: { projectId: projects[0]?.projectId } };
  return {
    method: "POST",
    url: `${url}/functions/v1/keyframe-mcp`,
    headers: {
      authorization: `Bearer ${token}`,
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
    status: 200,
    contains: '"structuredContent"',
  };
}

/** Makes a project with a first frame. Returns a function that makes a video of so many bytes. */
async function openVideos({ url, apikey, token }: Caller): Promise<StoreVideo> {
  const keyframe = createKeyframeClient({ url, apikey, getToken: () => token });
  const generate = async (...start: Parameters<typeof keyframe.generate>) =>
    mustSucceed(await keyframe.waitFor(await keyframe.generate(...start), { timeoutMs: VIDEO_TIMEOUT_MS }));
  const { projectId } = await keyframe.projects.create({ title: "Memory", textPrompt: "A harbour at dawn" });
  await generate("first-frame", { projectId });
  return async (fault, bytes, value = bytes) => {
    // The simulator makes a small film and appends zeros, or sends the file.
    const { output } = await generate("video", { projectId, prompt: `A harbour at dawn [[fault:${fault}=${value}]]` });
    const response = await fetch(output.url, { method: "HEAD" });
    const stored = Number(response.headers.get("content-length"));
    if (output.bytes !== bytes || stored !== bytes)
      throw new Error(`A video of ${bytes} bytes was requested, ${output.bytes} recorded and ${stored} stored.`);
  };
}

import { createKeyframeClient, mustSucceed } from "../../../client/index.ts";
import type { FunctionName } from "../../../local/stack/function-arguments.ts";
import type { Aim, BenchContext, Benchmark, Result } from "../benchmark.ts";
import { runBurst } from "../deliver/burst.ts";
import { ENDPOINTS, openScene } from "../deliver/scene.ts";
import { keyframeWay } from "../deliver/ways.ts";
import { ratioOf, spreadOf } from "../measure.ts";
import type { BenchStack, Caller } from "../stack.ts";
import { residentMb, watchMemory } from "./process-usage.ts";
import { medianOf, openUnfinishedBodies, unfinishedBodies } from "./unfinished-bodies.ts";

const FULL = { deliveries: 60_000, videoMb: 200, times: 3, innocent: 200 };
const QUICK = { deliveries: 1_000, videoMb: 20, times: 1, innocent: 20 };
const WARM_UP_DELIVERIES = 200;
const WARM_UP_BYTES = 1_000_000;

export const memoryBenchmark: Benchmark = { name: "memory", run: measureMemory };

/** In MB: before the work, and the most during each of it. */
type Measured = { name: string; idle: number; peaks: number[]; atMost: number };

async function measureMemory({ quick, openStack, progress }: BenchContext): Promise<Result> {
  const { deliveries, videoMb, times, innocent } = quick ? QUICK : FULL;
  const stack = await openStack();
  const measured: Measured[] = [];
  const innocents: { name: string; before: number[]; during: number[] }[] = [];

  const scene = await openScene(stack.databaseUrl);
  const send = (events: number) => runBurst(scene, keyframeWay(scene), { events, endpoints: ENDPOINTS });
  try {
    const name = `deliver, ${deliveries.toLocaleString("en-US")} deliveries of 1 KB`;
    progress(name);
    await send(WARM_UP_DELIVERIES);
    const peaks = await watchDuring(stack, "keyframe-deliver", 1, () => send(deliveries));
    measured.push({ name, ...peaks, atMost: 100 });
  } finally {
    await scene.close();
  }

  const name = `generate, a video of ${videoMb} MB`;
  progress(name);
  const store = await openVideos(stack.caller);
  await store(WARM_UP_BYTES);
  const peaks = await watchDuring(stack, "keyframe-generate", times, () => store(videoMb * 1_000_000));
  measured.push({ name, ...peaks, atMost: 128 });

  for (const attack of unfinishedBodies(stack)) {
    const name = `${attack.name}, ${attack.what}`;
    progress(name);
    const before: number[] = [];
    const during: number[] = [];
    const ask = () => medianOf(attack.ask, innocent);
    await ask(); // warms up
    const peaks = await watchDuring(stack, attack.name, times, async () => {
      before.push(await ask());
      const bodies = await openUnfinishedBodies(attack.unfinished);
      during.push(await ask().finally(bodies.close));
    });
    measured.push({ name, ...peaks, atMost: 64 });
    innocents.push({ name, before, during });
  }
  return describe(measured, innocents);
}

function describe(measured: Measured[], innocents: { name: string; before: number[]; during: number[] }[]): Result {
  return {
    aims: [
      ...measured.map(({ name, idle, peaks, atMost }): Aim => {
        return { name: `${name}: MB above idle`, value: spreadOf(peaks.map((peak) => peak - idle)), atMost };
      }),
      ...innocents.map(({ name, before, during }) => ({
        name: `${name}: p50 of innocent requests ÷ before`,
        value: ratioOf(during, before),
        atMost: 2,
      })),
    ],
    tables: [
      {
        caption: "resident memory of the function, MB",
        columns: ["idle", "at most"],
        rows: measured.map(({ name, idle, peaks }) => ({ name, cells: [spreadOf([idle]), spreadOf(peaks)] })),
      },
    ],
  };
}

/** Repeats some work and watches the memory of the function that does it. */
async function watchDuring(stack: BenchStack, name: FunctionName, times: number, work: () => Promise<unknown>) {
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

const VIDEO_TIMEOUT_MS = 180_000;

/** Makes a project with a first frame. Returns a function that makes a video of so many bytes. */
async function openVideos({ url, apikey, token }: Caller): Promise<(bytes: number) => Promise<void>> {
  const keyframe = createKeyframeClient({ url, apikey, getToken: () => token });
  const generate = async (...start: Parameters<typeof keyframe.generate>) =>
    mustSucceed(await keyframe.waitFor(await keyframe.generate(...start), { timeoutMs: VIDEO_TIMEOUT_MS }));
  const { projectId } = await keyframe.createProject({ title: "Memory", textPrompt: "A harbour at dawn" });
  await generate("first-frame", { projectId });
  return async (bytes) => {
    // The simulator makes a small film and appends zeros.
    const { output } = await generate("video", {
      projectId,
      prompt: `A harbour at dawn [[fault:output_padded=${bytes}]]`,
    });
    const response = await fetch(output.url, { method: "HEAD" });
    const stored = Number(response.headers.get("content-length"));
    if (output.bytes !== bytes || stored !== bytes)
      throw new Error(`A video of ${bytes} bytes was asked for, ${output.bytes} recorded and ${stored} stored.`);
  };
}

import { createKeyframeClient, mustSucceed } from "../../../client/index.ts";
import type { FunctionName } from "../../../local/stack/function-arguments.ts";
import type { BenchContext, Benchmark, Result } from "../benchmark.ts";
import { openScene } from "../deliver/scene.ts";
import { keyframeWay, runBurst } from "../deliver/ways.ts";
import { spreadOf } from "../measure.ts";
import type { BenchStack, Caller } from "../stack.ts";
import { residentMb, watchMemory } from "../process-usage.ts";

const FULL = { deliveries: 60_000, videoMb: 200, times: 3 };
const QUICK = { deliveries: 1_000, videoMb: 20, times: 1 };
const WARM_UP_DELIVERIES = 200;
const WARM_UP_BYTES = 1_000_000;

export const memoryBenchmark: Benchmark = { name: "memory", run: measureMemory };

/** In MB: before the work, and the most during each of it. */
type Measured = { name: string; idle: number; peaks: number[]; atMost: number };

async function measureMemory({ quick, openStack, progress }: BenchContext): Promise<Result> {
  const { deliveries, videoMb, times } = quick ? QUICK : FULL;
  const stack = await openStack();
  const measured: Measured[] = [];

  const scene = await openScene(stack);
  const send = (events: number) => runBurst(scene, keyframeWay(scene), events);
  try {
    const name = `deliver, ${deliveries.toLocaleString("en-US")} deliveries of 1 KB`;
    progress(name);
    await send(WARM_UP_DELIVERIES);
    const peaks = await watchDuring(stack, "keyframe-deliver", 1, () => send(deliveries));
    measured.push({ name, ...peaks, atMost: 100 });
  } finally {
    await scene.receiver.close();
  }

  const name = `generate, a video of ${videoMb} MB`;
  progress(name);
  const store = await openVideos(stack.caller);
  await store(WARM_UP_BYTES);
  const peaks = await watchDuring(stack, "keyframe-generate", times, () => store(videoMb * 1_000_000));
  measured.push({ name, ...peaks, atMost: 128 });

  return {
    aims: measured.map(({ name, idle, peaks, atMost }) => {
      return { name: `${name}: MB above idle`, value: spreadOf(peaks.map((peak) => peak - idle)), atMost };
    }),
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

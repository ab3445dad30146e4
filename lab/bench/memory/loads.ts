import { waitUntil } from "../measure.ts";
import { createKeyframeClient, type KeyframeClient, mustSucceed } from "../../../client/index.ts";
import { ENDPOINTS, openScene } from "../deliver/scene.ts";
import { keyframeWay } from "../deliver/ways.ts";
import type { Caller } from "../stack.ts";

type DrainLoad = {
  /** Commits so many events of 1 KB over twenty endpoints and waits until each is received and recorded. */
  drain(events: number): Promise<void>;
  close(): Promise<void>;
};

/** Deliveries of the stack's own deliver to a receiver in its own process. */
export async function openDrainLoad(databaseUrl: string): Promise<DrainLoad> {
  const scene = await openScene(databaseUrl);
  const way = keyframeWay(scene);
  return {
    drain: async (events) => {
      await scene.receiver.begin([]);
      await way.commit(events, ENDPOINTS);
      const isRecorded = async () => !(await way.isOpen());
      await waitUntil(isRecorded, { what: "deliveries are recorded", everyMs: 200, timeoutMs: 15 * 60_000 });
      const { arrivals } = await scene.receiver.report();
      if (arrivals.length !== events) throw new Error(`${arrivals.length} of ${events} events came.`);
    },
    close: async () => {
      await way.close();
      await scene.close();
    },
  };
}

const VIDEO_TIMEOUT_MS = 180_000;

/** Makes a project with a first frame. Returns a function that makes a video of so many bytes. */
export async function openVideoLoad({ url, apikey, token }: Caller): Promise<(bytes: number) => Promise<void>> {
  const keyframe = createKeyframeClient({ url, apikey, getToken: () => token });
  const { projectId } = await keyframe.createProject({ title: "Memory", textPrompt: "A harbour at dawn" });
  await made(keyframe, () => keyframe.generate("first-frame", { projectId }));
  return async (bytes) => {
    // The simulator makes a small film and appends a box of zeros.
    const prompt = `A harbour at dawn [[fault:output_padded=${bytes}]]`;
    const { output } = await made(keyframe, () => keyframe.generate("video", { projectId, prompt }));
    const response = await fetch(output.url, { method: "HEAD" });
    const stored = Number(response.headers.get("content-length"));
    if (output.bytes !== bytes || stored !== bytes)
      throw new Error(`A video of ${bytes} bytes was asked for, ${output.bytes} recorded and ${stored} stored.`);
  };
}

async function made(keyframe: KeyframeClient, start: () => ReturnType<KeyframeClient["generate"]>) {
  return mustSucceed(await keyframe.waitFor(await start(), { timeoutMs: VIDEO_TIMEOUT_MS }));
}

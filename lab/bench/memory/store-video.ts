import { createKeyframeClient, type KeyframeClient, mustSucceed } from "../../../client/index.ts";
import type { Caller } from "../bench-stack.ts";

const PATIENCE_MS = 180_000;

/** Makes a project with a first frame. Returns what makes a video of it that is so many bytes large. */
export async function openVideoLoad({ url, apikey, token }: Caller): Promise<(bytes: number) => Promise<void>> {
  const keyframe = createKeyframeClient({ url, apikey, getToken: () => token });
  const { projectId } = await keyframe.createProject({ title: "Memory", textPrompt: "A harbour at dawn" });
  await made(keyframe, () => keyframe.generate("first-frame", { projectId }));
  return async (bytes) => {
    // The simulator makes a small film as always, and puts a box of zeros behind it.
    const prompt = `A harbour at dawn [[fault:output_padded=${bytes}]]`;
    const { output } = await made(keyframe, () => keyframe.generate("video", { projectId, prompt }));
    const response = await fetch(output.url, { method: "HEAD" });
    const stored = Number(response.headers.get("content-length"));
    if (output.bytes !== bytes || stored !== bytes)
      throw new Error(`A video of ${bytes} bytes was asked for, ${output.bytes} recorded and ${stored} stored.`);
  };
}

async function made(keyframe: KeyframeClient, start: () => ReturnType<KeyframeClient["generate"]>) {
  return mustSucceed(await keyframe.waitFor(await start(), { timeoutMs: PATIENCE_MS }));
}

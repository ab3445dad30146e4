import { createKeyframeClient, hasEnded, mustSucceed } from "../client/index.ts";
import type { Caller } from "./create-overhead.ts";

const LOOK_EVERY_MS = 5;

/** ms from POST first-frame until a status read says succeeded, one at a time. */
export async function measureFirstFrame(caller: Caller, times: number): Promise<number[]> {
  const keyframe = createKeyframeClient({ url: caller.url, getToken: () => caller.token });
  const { projectId } = await keyframe.createProject({ title: "Bench", textPrompt: "A harbour at dawn" });
  const took: number[] = [];
  for (let turn = 0; turn < times; turn++) {
    const start = performance.now();
    let made = await keyframe.generate("first-frame", { projectId });
    while (!hasEnded(made)) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      made = await keyframe.readPrediction(made); // not waitFor, which is too polite to measure with
    }
    mustSucceed(made);
    took.push(performance.now() - start);
  }
  return took;
}

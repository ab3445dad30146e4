import { apiCaller } from "../local/demo/call-api.ts";
import { prediction } from "../shared/contract/predictions.ts";
import { project } from "../shared/contract/projects.ts";
import type { Caller } from "./create-overhead.ts";

const LOOK_EVERY_MS = 5;

/** ms from POST first-frame until a status read says succeeded, one at a time. */
export async function measureFirstFrame(caller: Caller, times: number): Promise<number[]> {
  const call = apiCaller(`${caller.url}/functions/v1`, caller.token);
  const { projectId } = await call(project, "POST", "/api/projects", {
    title: "Bench",
    textPrompt: "A harbour at dawn",
  });
  const took: number[] = [];
  for (let turn = 0; turn < times; turn++) {
    const start = performance.now();
    let made = await call(prediction, "POST", "/api/projects/generate/first-frame", { projectId });
    while (made.status !== "succeeded") {
      if (made.status === "failed" || made.status === "canceled")
        throw new Error(`It ${made.status}: ${made.error?.message}`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      const query = new URLSearchParams({ projectId, predictionId: made.predictionId });
      made = await call(prediction, "GET", `/api/projects/generate/first-frame?${query}`);
    }
    took.push(performance.now() - start);
  }
  return took;
}

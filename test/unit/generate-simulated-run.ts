import type { RunningSimulator } from "../../local/simulator/start-simulator.ts";
import { providerState } from "../../shared/replicate/provider-prediction.ts";
import { createProvider } from "../../supabase/functions/keyframe-generate/provider/provider.ts";
import { until } from "../support/until.ts";

/** Runs a model of the simulator to its end and returns the address of its output. */
export async function runModel(
  simulator: RunningSimulator,
  model: string,
  input: Record<string, unknown>,
): Promise<string> {
  const provider = createProvider({
    token: simulator.token,
    baseUrl: simulator.apiUrl,
    fetch,
    now: Date.now,
  });
  const signal = new AbortController().signal;
  const { id } = await provider.create({ model, input, cancelAfterSeconds: 600, webhook: null }, signal);
  return await until("the run has an output", async () => providerState(await provider.get(id, signal)).output_url);
}

/** The address of a real H.264 MP4 of five seconds. */
export async function runVideo(simulator: RunningSimulator, directives = ""): Promise<string> {
  const frame = await runModel(simulator, "google/nano-banana", { prompt: "A harbour", output_format: "png" });
  return await runModel(simulator, "kwaivgi/kling-v2.1", { prompt: `A boat leaves ${directives}`, start_image: frame });
}

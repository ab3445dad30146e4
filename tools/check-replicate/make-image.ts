import { z } from "zod";
import { buildInput } from "../../shared/replicate/build-input.ts";
import { providerState, type ProviderPrediction } from "../../shared/replicate/provider-prediction.ts";
import { createCheckedCopy } from "../../supabase/functions/keyframe-generate/files/checked-copy.ts";
import { type OutputSource, readOutput } from "../../supabase/functions/keyframe-generate/files/open-output.ts";
import type { Provider } from "../../supabase/functions/keyframe-generate/provider/provider.ts";
import type { MediaFacts, MediaType } from "../../shared/media/media.ts";
import type { ModelRow } from "../models-check/model-row.ts";
import { waitForRun } from "./wait-for-run.ts";

const PROMPT = "A small harbour at dawn, fog on the water, one red boat";

/** The provider ends the run by itself after so long. */
export const RUN_SECONDS = 300;

/** The provider ended the run without an output. */
export class RunFailed extends Error {}

export type LiveImage = {
  bytes: Uint8Array<ArrayBuffer>;
  type: MediaType;
  facts: MediaFacts & { sha256: string };
  /** Seconds that the model ran for, when the provider tells. */
  predictSeconds: number | null;
};

export type Steps = {
  provider: Provider;
  outputs: OutputSource;
  sleep(ms: number): Promise<void>;
  /** Milliseconds since 1970. */
  now(): number;
  /** Told once the run exists: from here on it costs. */
  onStarted(run: ProviderPrediction): void;
};

/**
 * Makes one image as the function `generate` does, with its own code: the same input, the same single create, the same checks
 * of the file. What differs is that nothing is stored. Throws ProviderError, RunFailed, OutputError, or the signal's reason,
 * after which the run is cancelled.
 */
export async function makeImage(row: ModelRow, steps: Steps, signal: AbortSignal): Promise<LiveImage> {
  const { provider, outputs } = steps;
  const wanted = { step: row.step, prompt: PROMPT, durationSeconds: null };
  const input = buildInput({ ...wanted, reference: null, firstFrame: null, lastFrame: null }, row);
  const run = { model: row.model, input, cancelAfterSeconds: RUN_SECONDS, webhook: null };
  const started = await provider.create(run, signal);
  steps.onStarted(started);
  const ended = await waitForRun(started, { ...steps, mostMs: RUN_SECONDS * 1000 }, signal);

  const { output_url: url, error_message: said } = providerState(ended);
  if (ended.status !== "succeeded") {
    throw new RunFailed(`The run ended as ${ended.status}${said === null ? "" : `: ${said}`}.`);
  }
  if (url === null) throw new RunFailed("The run succeeded, but its output is no address.");
  const copy = await createCheckedCopy(row.step, readOutput(url, outputs, signal));
  const bytes = new Uint8Array(await new Response(copy.body).arrayBuffer().catch(() => new ArrayBuffer(0)));
  const facts = copy.result(); // throws what was wrong with the file
  if (!facts) throw new RunFailed("The output was not read to its end.");
  return { bytes, type: copy.type, facts, predictSeconds: metrics.safeParse(ended).data?.metrics.predict_time ?? null };
}

const metrics = z.object({ metrics: z.object({ predict_time: z.number() }) });

import { z } from "zod";
import type { MediaFacts, MediaType } from "../../shared/media/media.ts";
import { buildInput } from "../../shared/replicate/build-input.ts";
import { type ProviderPrediction, providerState } from "../../shared/replicate/provider-prediction.ts";
import { createCheckedCopy } from "../../supabase/functions/keyframe-generate/files/checked-copy.ts";
import { type OutputSource, readOutput } from "../../supabase/functions/keyframe-generate/files/open-output.ts";
import { ProviderError } from "../../supabase/functions/keyframe-generate/provider/provider-error.ts";
import { retryVerdict } from "../../supabase/functions/keyframe-generate/provider/provider-verdict.ts";
import type { Provider } from "../../supabase/functions/keyframe-generate/provider/provider.ts";
import { defaultsOf, type ModelRow } from "../models-check/row-inputs.ts";

const PROMPT = "A small harbour at dawn, fog on the water, one red boat";

/** The provider's own limit for the run. */
const RUN_SECONDS = 300;

/** The provider ended the run without an output. */
class RunFailed extends Error {}

export type LiveImage = {
  bytes: Uint8Array<ArrayBuffer>;
  type: MediaType;
  facts: MediaFacts & { sha256: string };
  /** Seconds that the model ran, when the provider reports them. */
  predictSeconds: number | null;
};

type Steps = {
  provider: Provider;
  outputs: OutputSource;
  sleep(ms: number): Promise<void>;
  /** Milliseconds since 1970. */
  now(): number;
  /** Called when the run exists: from then on it costs money. */
  onStarted(run: ProviderPrediction): void;
};

/**
 * Makes one image with the code of the function `generate`: the same input, the same single create, the same checks of
 * the file. Stores nothing. Throws ProviderError, RunFailed, OutputError, or the signal's reason after it has
 * cancelled the run.
 */
export async function makeImage(row: ModelRow, steps: Steps, signal: AbortSignal): Promise<LiveImage> {
  const { provider, outputs } = steps;
  const files = { firstFrame: null, lastFrame: null, references: [] };
  const input = buildInput({ step: row.step, input: { prompt: PROMPT, ...defaultsOf(row.controls) }, files }, row);
  const run = { model: row.model, input, cancelAfterSeconds: RUN_SECONDS, webhook: null };
  const started = await provider.create(run, signal);
  steps.onStarted(started);
  const ended = await waitForRun(started, { ...steps, maxMs: RUN_SECONDS * 1000 }, signal);

  const { output_url: url, error_message: said } = providerState(ended);
  if (ended.status !== "succeeded") {
    throw new RunFailed(`The run ended as ${ended.status}${said === null ? "" : `: ${said}`}.`);
  }
  if (url === null) throw new RunFailed("The run succeeded, but its output is no address.");
  const copy = await createCheckedCopy(row.step, readOutput(url, outputs, signal));
  const bytes = new Uint8Array(await new Response(copy.body).arrayBuffer().catch(() => new ArrayBuffer(0)));
  const facts = copy.result(); // throws when the file is not usable
  if (!facts) throw new RunFailed("The output was not read to its end.");
  return { bytes, type: copy.type, facts, predictSeconds: metrics.safeParse(ended).data?.metrics.predict_time ?? null };
}

const metrics = z.object({ metrics: z.object({ predict_time: z.number() }) });

const ASK_EVERY_MS = 1000;
const CANCEL_MS = 10_000;

type Waiting = {
  provider: Provider;
  sleep(ms: number): Promise<void>;
  /** Milliseconds since 1970. */
  now(): number;
  maxMs: number;
};

/**
 * Polls until the run has ended. Retries answers that are missing, busy or broken until the time is up, but not a
 * refused token. Cancels the run when it gives up or is aborted, so that it costs no more.
 */
export async function waitForRun(
  started: ProviderPrediction,
  { provider, sleep, now, maxMs }: Waiting,
  signal: AbortSignal,
): Promise<ProviderPrediction> {
  const end = now() + maxMs;
  let run = started;
  try {
    while (run.status === "starting" || run.status === "processing") {
      if (now() > end) throw new Error(`The run ${run.id} did not end within ${maxMs / 1000} s.`);
      await sleep(ASK_EVERY_MS);
      signal.throwIfAborted();
      run = await provider.get(run.id, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        if (error instanceof ProviderError && mayPass(error)) return run;
        throw error;
      });
    }
    return run;
  } catch (error) {
    await provider.cancel(run.id, AbortSignal.timeout(CANCEL_MS)).catch(() => undefined);
    throw error;
  }
}

/** Everything but what a person has to correct. */
function mayPass(error: ProviderError): boolean {
  const { code } = retryVerdict(error).reason;
  return code !== "provider_unauthorized" && code !== "provider_payment_required" && error.status !== 404;
}

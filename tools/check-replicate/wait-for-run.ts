import type { ProviderPrediction } from "../../shared/replicate/provider-prediction.ts";
import type { Provider } from "../../supabase/functions/keyframe-generate/provider/provider.ts";
import { ProviderError } from "../../supabase/functions/keyframe-generate/provider/provider-error.ts";
import { laterVerdict } from "../../supabase/functions/keyframe-generate/provider/provider-verdict.ts";

const ASK_EVERY_MS = 1000;
const CANCEL_MS = 10_000;

type Waiting = {
  provider: Provider;
  sleep(ms: number): Promise<void>;
  /** Milliseconds since 1970. */
  now(): number;
  mostMs: number;
};

/**
 * Asks until the run has ended, whichever way. An answer that is missing, busy or broken is asked for again until the time is
 * up; a refusal of the token is not. When it gives up, or is told to, it cancels the run, so that it costs no more.
 */
export async function waitForRun(
  started: ProviderPrediction,
  { provider, sleep, now, mostMs }: Waiting,
  signal: AbortSignal,
): Promise<ProviderPrediction> {
  const end = now() + mostMs;
  let run = started;
  try {
    while (run.status === "starting" || run.status === "processing") {
      if (now() > end) throw new Error(`The run ${run.id} did not end within ${mostMs / 1000} s.`);
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

/** Everything but what a person has to mend. */
function mayPass(error: ProviderError): boolean {
  const { code } = laterVerdict(error).reason;
  return code !== "provider_unauthorized" && code !== "provider_payment_required" && error.status !== 404;
}

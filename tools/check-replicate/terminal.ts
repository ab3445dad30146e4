import { oneLine } from "../../local/stack/command-line.ts";
import { MEDIA_EXTENSIONS } from "../../shared/media/media.ts";
import { UnsupportedInput } from "../../shared/replicate/build-input.ts";
import { OutputError } from "../../supabase/functions/keyframe-generate/files/open-output.ts";
import { ProviderError } from "../../supabase/functions/keyframe-generate/provider/provider-error.ts";
import { createVerdict, retryVerdict } from "../../supabase/functions/keyframe-generate/provider/provider-verdict.ts";
import type { LiveImage } from "./make-image.ts";

/** Standard output and input. `read` resolves with null at the end of the input, as Deno's does. */
type Terminal = { write(text: string): void; read(buffer: Uint8Array): Promise<number | null> };

/**
 * Asks a question and resolves with true for y or yes only. Rejects with the signal's reason: Deno's own `confirm`
 * delays Ctrl-C until Enter.
 */
export async function ask(question: string, terminal: Terminal, signal: AbortSignal): Promise<boolean> {
  const stopped = new Promise<never>((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
  );
  stopped.catch(() => undefined); // it may come after the answer
  signal.throwIfAborted();
  terminal.write(`${question} [y/N] `);
  const buffer = new Uint8Array(1024);
  const length = await Promise.race([terminal.read(buffer), stopped]);
  const answer = new TextDecoder().decode(buffer.subarray(0, length ?? 0));
  return /^y(es)?$/i.test(answer.trim());
}

/** The person at the terminal, if any. */
type Person = { isAtTerminal(): boolean; agrees(question: string): Promise<boolean> };

/**
 * How to get consent to the cost: `--yes` gives it, otherwise the person at the terminal is asked. Throws when there
 * is no terminal.
 */
export function maySpend(yes: boolean, person: Person): (model: string) => Promise<boolean> {
  if (yes) return () => Promise.resolve(true);
  if (!person.isAtTerminal()) {
    throw new Error(
      "This costs money, and there is no terminal to ask at: add --yes (npm run check:replicate -- --yes).",
    );
  }
  return (model) => person.agrees(`Run ${model} once on Replicate, at your account's expense?`);
}

/** By the error code that a prediction would have. */
const REMEDY: Record<string, string> = {
  provider_unauthorized:
    "Make a token at https://replicate.com/account/api-tokens and set it as KEYFRAME_REPLICATE_API_TOKEN.",
  provider_payment_required: "Look at https://replicate.com/account/billing.",
  model_unavailable: "npm run models:check shows which row of models is wrong.",
  provider_rejected_input: "npm run models:check shows whether the model's inputs have changed.",
  provider_rate_limited: "Wait a minute and run it again.",
  provider_unavailable: "Look at https://www.replicatestatus.com and run it again.",
  provider_unreachable: "Is there a network, and is KEYFRAME_REPLICATE_API_BASE_URL right?",
  output_not_usable: "Is the host of the output in KEYFRAME_REPLICATE_OUTPUT_HOSTS?",
};

/** Whether it was asked to stop, and the run's id once it exists. */
type Reached = { stopped: boolean; runId: string | null };

/** What went wrong and what to do, in one line without the token. */
export function whatToDo(error: unknown, { stopped, runId }: Reached): string {
  // An unanswered create may have started a run.
  const isLost = error instanceof ProviderError && runId === null && retryVerdict(error).providerAnswered === false;
  const look = isLost ? " It may have started a run all the same: see https://replicate.com/predictions." : "";
  if (stopped)
    return `It was asked to stop.${runId === null ? look : ` The run ${runId} was cancelled if it had not ended.`}`;
  if (error instanceof ProviderError) {
    const { reason } = createVerdict(error);
    return `${reason.message} ${REMEDY[reason.code] ?? ""}${look}`;
  }
  if (error instanceof OutputError) return `${error.message} ${REMEDY[error.code] ?? ""}`.trim();
  if (error instanceof UnsupportedInput) return `${error.message} npm run models:check may show more.`;
  return oneLine(error);
}

/** The image, its time, and where its price is shown. */
export function describeImage(
  { bytes, type, facts, predictSeconds }: LiveImage,
  { model, file, seconds }: { model: string; file: string; seconds: string },
): string {
  const ran = predictSeconds === null ? "" : `, of which the model ran ${predictSeconds.toFixed(1)} s`;
  return `Image      ${type}, ${facts.width} × ${facts.height}, ${bytes.byteLength} bytes, SHA-256 ${facts.sha256}
Kept       ${file}
Time       ${seconds} s${ran}
Cost       one run of ${model}: https://replicate.com/account/billing shows it
It works: token, model, input, run, download and file.`;
}

/** Writes the image to a temporary file and returns its path. */
export async function keepImage({ bytes, type }: LiveImage): Promise<string> {
  const file = await Deno.makeTempFile({ prefix: "keyframe-check-", suffix: `.${MEDIA_EXTENSIONS[type]}` });
  await Deno.writeFile(file, bytes);
  return file;
}

import { z } from "zod";
import type { CallDatabase } from "../platform/call-database.ts";
import { redactedLine } from "../platform/log.ts";

/**
 * A provider run, in answers and callbacks. Loose: only used fields are listed, and `output` and `error` differ between models. The id
 * becomes part of URLs, so its characters are checked.
 */
export const providerPrediction = z.looseObject({
  id: z.string().regex(/^[A-Za-z0-9_-]{1,100}$/),
  status: z.enum(["starting", "processing", "succeeded", "failed", "canceled", "aborted"]),
  output: z.unknown().optional(),
  error: z.unknown().optional(),
  logs: z.string().nullish(),
  metrics: z.record(z.string(), z.unknown()).nullish().catch(null),
});
export type ProviderPrediction = z.infer<typeof providerPrediction>;

/** A run as report_run takes it (keyframe_private.provider_run). */
export function runState(run: ProviderPrediction) {
  const failure = readFailure(run.error);
  return {
    id: run.id,
    status: run.status,
    ...(run.status === "succeeded" ? readOutput(run.output) : NO_OUTPUT),
    progress: run.status === "processing" ? parseProgress(run.logs) : null,
    error_message: failure.sentence || null,
    failure: run.status === "failed" ? failure.kind : null,
    stage: run.status === "failed" ? failure.stage : null,
    metrics: isOver(run) ? readMetrics(run.metrics) : null,
  };
}

/** Nothing more happens to the run. */
export const isOver = ({ status }: Pick<ProviderPrediction, "status">) =>
  status !== "starting" && status !== "processing";

// Postgres stores neither NUL nor half of a surrogate pair, and an end that cannot be recorded would be tried forever.
const metric = z.union([z.number(), z.boolean(), z.string().regex(/^[ -~]{0,100}$/)]);
const MAX_METRICS = 50;

/** What the provider counted, such as `video_output_duration_seconds`. It is stored with the submit, so its size has a limit. */
function readMetrics(metrics: ProviderPrediction["metrics"]) {
  const read = Object.entries(metrics ?? {}).filter(
    ([name, value]) => /^[A-Za-z0-9_]{1,64}$/.test(name) && metric.safeParse(value).success,
  );
  return read.length === 0 ? null : Object.fromEntries(read.slice(0, MAX_METRICS));
}

/** `at` is where it is in the output: `video`, `images[0]`, `[0][0]`. */
type OutputFile = { at: string; url: string };

const NO_OUTPUT = { output_url: null, output_files: null };

/**
 * The URL of the output: a string, or the first of a list. Of any output that is not a string its files too: the model's row may name
 * one, or the database finds the one of the right kind. Whether a URL is allowed is checked when it is fetched.
 */
function readOutput(output: unknown): { output_url: string | null; output_files: OutputFile[] | null } {
  const first: unknown = Array.isArray(output) ? output[0] : output;
  const files = typeof output === "string" ? [] : listFiles(output, "", 0).slice(0, MAX_FILES);
  return { output_url: isFileUrl(first) ? first : null, output_files: files.length > 0 ? files : null };
}

/** Cs: half of a surrogate pair. */
const isFileUrl = (value: unknown): value is string =>
  typeof value === "string" && value.length <= 2048 && /^https?:[^\p{Cc}\p{Cs}]+$/u.test(value) && URL.canParse(value);

/** Enough that long lists do not hide what stands beside them. */
const MAX_FILES = 100;
const MAX_FILES_OF_LIST = 20;
const MAX_DEPTH = 8;

function listFiles(value: unknown, at: string, depth: number): OutputFile[] {
  if (isFileUrl(value)) return [{ at, url: value }];
  if (typeof value !== "object" || value === null || depth === MAX_DEPTH) return [];
  const entries = Array.isArray(value)
    ? value.slice(0, MAX_FILES_OF_LIST).map((item, index): [string, unknown] => [`${at}[${index}]`, item])
    : Object.entries(value).map(([key, item]): [string, unknown] => {
        const name = key.replaceAll(/[^\w.-]/g, "_");
        return [at === "" ? name : `${at}.${name}`, item];
      });
  // Such a path can be written into a row, and into a sentence.
  const named = entries.filter(([path]) => /^[\w.[\]-]{1,100}$/.test(path)).slice(0, 100);
  return named.flatMap(([path, item]) => listFiles(item, path, depth + 1));
}

/** A progress bar of tqdm and similar tools, redrawn after a carriage return: `video:  45%|████▌     | 45/100 [00:12<00:15]`. */
const BAR = /(?:^|[\s:])(\d{1,3})%\s*\|/g;
/** Progress is at the end of the logs, so only this many characters are read. */
const TAIL = 4000;

/** The progress of a run, 0 to 1, by the last progress bar in its logs; null without one. */
export function parseProgress(logs: string | null | undefined): number | null {
  const bars = [...(logs ?? "").slice(-TAIL).matchAll(BAR)];
  const percent = bars.at(-1)?.[1];
  return percent === undefined ? null : Math.min(1, Number(percent) / 100);
}

const outcome = z.enum(["recorded", "unchanged", "unknown", "unproven", "ended", "stale", "replaced"]);
type RecordOutcome = z.infer<typeof outcome>;

/**
 * For a run in the provider's list: why it may belong to a prediction (it names the prediction, or has equal text), and the attempt
 * that is not sent because of it.
 */
export type Found = { found_by: "name" | "text"; attempt_without_run: number | null };

/** `work_id`: the leased work whose result this is. It polls again in poll_seconds; null for the database's own interval. */
type RunSource = Partial<Found> & {
  prediction_id: string;
  attempt: number;
  work_id?: number;
  lease_token?: string;
  poll_seconds?: number | null;
};

/** Records the state of a provider run from an answer or a callback. Throws DatabaseError. */
export async function reportRun(
  call: CallDatabase,
  run: ProviderPrediction,
  source: RunSource,
): Promise<RecordOutcome> {
  return outcome.parse(await call("report_run", { run: runState(run), ...source }));
}

/** Whether the provider rejected the content of its input or of its output. */
export type Stage = "input" | "output";

/**
 * What the provider's words say about a failed run. `kind` is null for any cause that is not listed here. `stage` is for rejected
 * content, and null when the words do not tell it. `sentence` is for the owner.
 */
type RunFailure = {
  kind: "input_unreachable" | "interrupted" | "content_rejected" | null;
  stage: Stage | null;
  sentence: string;
};

export function readFailure(error: unknown): RunFailure {
  const said = typeof error === "string" ? error : JSON.stringify(error ?? "");
  const sentence = redactedLine(error);
  if (INPUT_FILE.test(said) && NOT_READ.test(said) && !UNUSABLE.test(said))
    return { kind: "input_unreachable", stage: null, sentence };
  if (isContentRejected(said)) {
    const stage = stageOf(said);
    return { kind: "content_rejected", stage, sentence: contentRejected(stage, sentence) };
  }
  return { kind: isInterrupted(said) ? "interrupted" : null, stage: null, sentence };
}

/** What to change after content was rejected, with the provider's explanation. */
export function contentRejected(stage: Stage | null, explanation: string): string {
  const what =
    stage === null ? "the prompt, an image or the result" : stage === "input" ? "the prompt or an image" : "the result";
  const ours = `The model's safety filter rejected ${what}. Try different wording or images.`;
  return explanation === "" ? ours : `${ours} The provider said: “${explanation}”`;
}

/** The path of an input file that we gave to a run: in our Storage, or uploaded to the provider (submit.ts). */
const INPUT_FILE = /\/storage\/v1\/object\/sign\/|\/v1\/files\//;
/**
 * `502 Server Error: Bad Gateway for url: …`, `HTTPSConnectionPool(…): Max retries exceeded with url: …`, `Client error '404 …' for url …`,
 * `Failed to fetch image from …: 403`.
 */
const NOT_READ =
  /(?:client|server) error|max retries exceeded|timed out|connection (?:refused|reset|aborted)|(?:cannot|can't|could not|couldn't|unable to|failed to|error) (?:fetch|connect|download|retriev)|\b(?:4\d\d|50\d)(?: (?:bad|unauthorized|forbidden|not found|gone|internal|service)\b|\W*$)/i;
/** An image that was read and is not usable names its address too, and would fail again. */
const UNUSABLE =
  /cannot identify|not (?:a valid|an?|recognized as an?) image|unsupported|invalid image|corrupt|too (?:large|small|big)|must be/i;

const codeIn = (said: string): string | undefined => /\((E\d{3,4})\)|^(E\d{3,4}):/.exec(said)?.slice(1).join("");

/**
 * Codes of Replicate that name a cause of its own (replicate.com/docs/reference/error-codes and reports of 2026): unknown, too late to
 * start, interrupted, unhealthy, "Director: unexpected error"; of official models: high demand, temporarily unavailable. Not E1001 (out
 * of memory): it would come again.
 */
const TRANSIENT_CODES = ["E1000", "E6716", "E8367", "E8765", "E9828", "E003", "E004"];

function isInterrupted(said: string): boolean {
  const code = codeIn(said);
  if (code !== undefined) return TRANSIENT_CODES.includes(code);
  return /prediction interrupted|\(code: PA\)|director: unexpected error/i.test(said);
}

/**
 * `The input or output was flagged as sensitive … (E005)` of Replicate's official models, `NSFW content` of its safety checker, and the
 * words of the vendors: Google, ByteDance (…SensitiveContentDetected), MiniMax (… new_sensitive), Black Forest Labs (… Moderated), Kling
 * (risk control).
 */
const REJECTED =
  /\bnsfw\b|\bflagged\b|sensitive (?:words|content|information)|sensitivecontentdetected|new_sensitive|(?:request|content) moderated|content moderat|ai moderator|risk control|violat\w+ .{0,60}(?:polic|guidelines|practices|terms)|prohibited_content|image_safety|may contain (?:a )?real person|blocked .{0,40}(?:safety|policy|moderation)/i;

const isContentRejected = (said: string) => codeIn(said) === "E005" || (REJECTED.test(said) && !isAboutMoney(said));

/** `Your account was flagged due to low credit`: it is the account, not the content. */
export const isAboutMoney = (said: string): boolean =>
  /\b(?:low|insufficient|no|not enough|out of|run out of)\b[^.]{0,20}\b(?:credits?|balance|funds)\b|\bbilling\b|\bpayment (?:method|is|required)/i.test(
    said,
  );

/** Advice such as `Try again with a different prompt.` names the input whichever was rejected. */
const ADVICE = /(?:^|(?<=[.!?] ))(?:please|try)\b[^.!?]*/gi;
const INPUT = /\bprompt|\binput|\buploaded|\breference|request moderated|real person/i;
const OUTPUT = /\boutput|\bgenerated|\bresult|content moderated|image_safety|\bnsfw\b/i;

function stageOf(said: string): Stage | null {
  const words = said.replace(ADVICE, "");
  const isInput = INPUT.test(words);
  if (isInput) return OUTPUT.test(words.replace(/\bnsfw\b/gi, "")) ? null : "input";
  return OUTPUT.test(words) ? "output" : null;
}

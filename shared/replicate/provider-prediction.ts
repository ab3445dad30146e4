import { z } from "zod";
import { readFailure } from "./run-failure.ts";

/**
 * A provider run, in answers and callbacks. The object is loose: only used fields are listed, and `output` and `error` differ between models.
 * The id becomes part of URLs, so its characters are checked.
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

/** Whether nothing more happens to the run. */
export const isOver = ({ status }: Pick<ProviderPrediction, "status">) =>
  status !== "starting" && status !== "processing";

// Postgres stores neither NUL nor half of a surrogate pair, and a result that cannot be recorded would be retried forever.
const metric = z.union([z.number(), z.boolean(), z.string().regex(/^[ -~]{0,100}$/)]);
const MAX_METRICS = 50;

/** What the provider counted, such as `video_output_duration_seconds`. It is stored with the submit, so its size has a limit. */
function readMetrics(metrics: ProviderPrediction["metrics"]) {
  const read = Object.entries(metrics ?? {}).filter(
    ([name, value]) => /^[A-Za-z0-9_]{1,64}$/.test(name) && metric.safeParse(value).success,
  );
  return read.length === 0 ? null : Object.fromEntries(read.slice(0, MAX_METRICS));
}

/** `at` is the file's place in the output: `video`, `images[0]`, `[0][0]`. */
type OutputFile = { at: string; url: string };

const NO_OUTPUT = { output_url: null, output_files: null };

/**
 * The URL of the output: a string, or the first of a list. If the output is not a string, its files are listed too: the model's row may name
 * one, or the database finds the one of the right kind. Whether a URL is allowed is checked when it is fetched.
 */
function readOutput(output: unknown): { output_url: string | null; output_files: OutputFile[] | null } {
  const first: unknown = Array.isArray(output) ? output[0] : output;
  const files = typeof output === "string" ? [] : listFiles(output, "", 0).slice(0, MAX_FILES);
  return { output_url: isFileUrl(first) ? first : null, output_files: files.length > 0 ? files : null };
}

/** Cs is half of a surrogate pair. */
const isFileUrl = (value: unknown): value is string =>
  typeof value === "string" && value.length <= 2048 && /^https?:[^\p{Cc}\p{Cs}]+$/u.test(value) && URL.canParse(value);

/** The limits are such that long lists do not hide the files beside them. */
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
  // A path of this form can be written into a row, and into a sentence.
  const named = entries.filter(([path]) => /^[\w.[\]-]{1,100}$/.test(path)).slice(0, 100);
  return named.flatMap(([path, item]) => listFiles(item, path, depth + 1));
}

/** A progress bar of tqdm and similar tools, redrawn after a carriage return: `video:  45%|████▌     | 45/100 [00:12<00:15]`. */
const BAR = /(?:^|[\s:])(\d{1,3})%\s*\|/g;
/** Progress is at the end of the logs, so only this many characters are read. */
const TAIL = 4000;

/** The progress of a run, 0 to 1, from the last progress bar in its logs; null if there is none. */
export function parseProgress(logs: string | null | undefined): number | null {
  const bars = [...(logs ?? "").slice(-TAIL).matchAll(BAR)];
  const percent = bars.at(-1)?.[1];
  return percent === undefined ? null : Math.min(1, Number(percent) / 100);
}

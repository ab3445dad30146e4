import { z } from "zod";
import type { CallDatabase } from "../platform/call-database.ts";
import { readFailure } from "./run-failure.ts";

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

/** The arguments of record_provider_state that come from the provider. */
export function providerState(run: ProviderPrediction) {
  const failure = readFailure(run.error);
  return {
    provider_prediction_id: run.id,
    provider_status: run.status,
    output_url: run.status === "succeeded" ? pickOutputUrl(run.output) : null,
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

/** The URL of the output: a string, or the first of a list. Whether it is allowed is checked when it is fetched. */
function pickOutputUrl(output: unknown): string | null {
  const first: unknown = Array.isArray(output) ? output[0] : output;
  return typeof first === "string" && first.length <= 2048 && URL.canParse(first) ? first : null;
}

/** A progress bar of tqdm and similar tools, which may be redrawn after a carriage return: `video:  45%|████▌     | 45/100 [00:12<00:15]`. */
const BAR = /(?:^|[\s:])(\d{1,3})%\s*\|/g;
/** Progress is at the end of the logs, so only this many characters are read. */
const TAIL = 4000;

/** The progress of a run, 0 to 1, by the last progress bar in its logs; null without one. */
export function parseProgress(logs: string | null | undefined): number | null {
  const bars = [...(logs ?? "").slice(-TAIL).matchAll(BAR)];
  const percent = bars.at(-1)?.[1];
  return percent === undefined ? null : Math.min(1, Number(percent) / 100);
}

const outcome = z.enum(["recorded", "unchanged", "duplicate", "unknown", "unproven", "ended", "stale", "given_up"]);
export type RecordOutcome = z.infer<typeof outcome>;

/**
 * A run that is in the provider's list. `by`: why it may belong to a prediction, because it names the prediction or has equal text.
 * `attemptWithoutRun`: the attempt that is not sent because of it.
 */
export type Found = { by: "name" | "text"; attemptWithoutRun: number | null };

export type ProviderStateSource = {
  predictionId: string;
  attempt: number;
  run: ProviderPrediction;
  /** The `webhook-id` of a callback, by which a replay is detected. */
  callbackId?: string;
  /** When to poll the provider next; null for the database's own interval. */
  pollAfterSeconds?: number | null;
  found?: Found | undefined;
};

/** Records the state of a provider run from an answer or a callback. Throws DatabaseError. */
export async function recordProviderState(call: CallDatabase, source: ProviderStateSource): Promise<RecordOutcome> {
  const answer = await call("record_provider_state", {
    prediction_id: source.predictionId,
    attempt: source.attempt,
    ...providerState(source.run),
    callback_id: source.callbackId ?? null,
    poll_after_seconds: source.pollAfterSeconds ?? null,
    found_by: source.found?.by ?? null,
    attempt_without_run: source.found?.attemptWithoutRun ?? null,
  });
  return outcome.parse(answer);
}

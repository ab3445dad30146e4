import { describeError } from "../../../../shared/platform/log.ts";
import { buildInput, UnsupportedInput } from "../../../../shared/replicate/build-input.ts";
import type { ProviderPrediction } from "../../../../shared/replicate/provider-prediction.ts";
import { StorageError, type StoredFile } from "../files/storage.ts";
import {
  createVerdict,
  ProviderError,
  type Reason,
  type RetryReason,
  retryVerdict,
  type Verdict,
} from "../provider/provider-error.ts";
import type { Deps } from "./database.ts";
import { recordOrphans, SearchTooLong } from "./record-orphans.ts";
import type { Lease, SubmitTask } from "./task.ts";

/** The range of Cancel-After that the provider accepts. */
const MIN_RUN_SECONDS = 5;
const MAX_RUN_SECONDS = 24 * 3600;

/** A run may wait this long for its start. Signed URLs are not valid longer, because they cannot be revoked. */
const SIGNED_FOR_SECONDS = 3600;

/**
 * Creates one run at the provider. The provider has no idempotency key, so the run of an earlier unanswered submit is searched for first, and
 * nothing here repeats a create. Throws DatabaseError.
 */
export async function submit(leased: Lease, deps: Deps, signal: AbortSignal): Promise<void> {
  const task = await deps.database.beginSubmit(leased);
  if (task === null) return;
  const started = performance.now();
  let isSent = false;
  let run: ProviderPrediction;
  try {
    const input = await prepare(task, deps, signal);
    if (input === "not needed") return;
    isSent = true;
    run = await create(task, input, deps, signal);
  } catch (error) {
    return await recordFailure(task, error, isSent, deps);
  }
  const ms = Math.round(performance.now() - started);
  deps.log.info("submitted", { predictionId: task.id, attempt: task.attempt, ms });
  await recordCreated(task, run, deps);
}

/** Returns the input for the provider, or "not needed" if the run of an earlier submit has been found. */
async function prepare(task: SubmitTask, deps: Deps, signal: AbortSignal) {
  const { found, unproven } = await recordOrphans(task, deps, signal, 1);
  if (found > 0) return "not needed" as const;
  if (task.search_attempt !== null) {
    const last = task.attempt - 1;
    const isOpen = await deps.database.recordSearchEnded(task.id, task.search_attempt, last, unproven > 0, null);
    if (!isOpen) return "not needed" as const;
  }
  const images = await Promise.all(
    task.images.map(async ({ role, bucket, name }) => {
      if (name === null) throw new ImageDeleted();
      return { role, url: await fileUrl({ bucket, name }, task.id, deps, signal) };
    }),
  );
  const urlsOf = (role: Role) => images.filter((image) => image.role === role).map(({ url }) => url);
  const files = {
    firstFrame: urlsOf("first_frame")[0] ?? null,
    lastFrame: urlsOf("last_frame")[0] ?? null,
    references: urlsOf("reference"),
  };
  return buildInput({ step: task.step, input: task.input, files }, task.model_settings);
}

/**
 * A URL from which the provider can read an input file: a signed URL, or an upload to the provider if it cannot reach the platform. For the
 * upload the file is in memory for a moment. The URL or the upload names the prediction, so that record-orphans.ts recognizes the run.
 * Storage ignores the parameter. Throws StorageError and ProviderError.
 */
async function fileUrl(file: StoredFile, predictionId: string, deps: Deps, signal: AbortSignal): Promise<string> {
  const { storage, provider, publicUrl, platformUrl } = deps;
  if (publicUrl === null) {
    const copy = await storage.download(file, signal);
    const name = file.name.slice(file.name.lastIndexOf("/") + 1);
    return await provider.upload(new File([copy], name, { type: copy.type }), predictionId, signal);
  }
  const url = await storage.sign(file, SIGNED_FOR_SECONDS, signal);
  return `${publicUrl}${url.slice(platformUrl.length)}&prediction=${predictionId}`;
}

type Role = SubmitTask["images"][number]["role"];

/** A prediction that made an input image has been deleted. */
class ImageDeleted extends Error {}

function create(task: SubmitTask, input: Record<string, unknown>, deps: Deps, signal: AbortSignal) {
  const left = Math.floor((task.deadline_at.getTime() - deps.now()) / 1000);
  const callback = `/functions/v1/keyframe-replicate-webhook?prediction=${task.id}&attempt=${task.attempt}`;
  const run = {
    model: task.model,
    input,
    cancelAfterSeconds: Math.min(Math.max(left, MIN_RUN_SECONDS), MAX_RUN_SECONDS),
    webhook: deps.publicUrl === null ? null : deps.publicUrl + callback,
  };
  return deps.provider.create(run, signal);
}

async function recordCreated(task: SubmitTask, run: ProviderPrediction, deps: Deps): Promise<void> {
  const outcome = await deps.database.reportRun(task, run, task);
  if (outcome === "recorded" || outcome === "unchanged") return;
  // If the outcome is ended (or deleted) or stale, the database has scheduled the run's cancellation. Otherwise callbacks or a search find it.
  deps.log.warn("submit_discarded", { predictionId: task.id, outcome });
}

/** Rethrows unexpected errors. */
function verdictOf(error: unknown, isSent: boolean): Verdict {
  if (error instanceof ProviderError) return isSent ? createVerdict(error) : retryVerdict(error);
  if (error instanceof UnsupportedInput) return fail({ code: "unsupported_input", message: error.message });
  if (error instanceof ImageDeleted || (error instanceof StorageError && error.status === 404))
    return fail({ code: "input_file_missing", message: "An image that this step uses has been deleted." });
  if (error instanceof StorageError)
    return retryUnsent({ code: "storage_unavailable", message: "The input images could not be read." });
  if (error instanceof SearchTooLong)
    return retryUnsent({
      code: "provider_unavailable",
      message: "The provider's list of runs was too long to search.",
    });
  throw error;
}

const fail = (reason: Reason): Verdict => ({ action: "fail", reason, retryable: false });
/** The verdict when nothing was sent. */
const retryUnsent = (reason: RetryReason): Verdict => ({
  action: "retry",
  reason,
  providerAnswered: false,
  retryAfterSeconds: null,
});

async function recordFailure(
  task: SubmitTask,
  error: unknown,
  isSent: boolean,
  { database, log }: Deps,
): Promise<void> {
  const verdict = verdictOf(error, isSent);
  const { action, reason } = verdict;
  const { id: predictionId, attempt } = task;
  log.warn("submit_failed", { predictionId, attempt, action, code: reason.code, reason: describeError(error) });
  if (verdict.action === "fail") {
    await database.fail(task, verdict.reason, { retryable: verdict.retryable });
    return;
  }
  if (verdict.action === "change_model") {
    const outcome = await database.modelRefused(task, reason.message);
    log.warn("model_refused", { predictionId: task.id, model: task.model, outcome });
    return;
  }
  const run = isSent && !verdict.providerAnswered ? "possible" : "none";
  await database.retryPrediction(task, reason, { retryAfterSeconds: verdict.retryAfterSeconds, run });
}

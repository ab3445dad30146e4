import { MEDIA_EXTENSIONS } from "../../../../shared/media/media.ts";
import { describeError } from "../../../../shared/platform/log.ts";
import { createCheckedCopy } from "../files/checked-copy.ts";
import { OutputError, readOutput } from "../files/open-output.ts";
import { StorageError, type StoredFile } from "../files/storage.ts";
import type { Deps, StoredOutput } from "../database.ts";
import type { StoreTask } from "./task.ts";

/** Copies the output of a provider run into Storage, checks it meanwhile, and completes the prediction. Throws DatabaseError. */
export async function store(task: StoreTask, deps: Deps, signal: AbortSignal): Promise<void> {
  let hasWritten = false;
  try {
    const copy = await createCheckedCopy(task.step, readOutput(task.provider_output_url, deps.outputs, signal));
    // The same for every attempt, so that a repeated copy leaves no second file.
    const name = `${task.owner_id}/${task.project_id}/${task.id}.${MEDIA_EXTENSIONS[copy.type]}`;
    hasWritten = true; // from here on a file may exist
    await upload({ bucket: "keyframe-outputs", name }, copy, deps, signal);
    const checked = copy.result();
    if (!checked) throw new StorageError("upload", null, new Error("Storage did not read the whole file"));
    const { durationSeconds, hasAudio, ...facts } = checked;
    const output: StoredOutput = {
      output_path: name,
      content_type: copy.type,
      ...facts,
      duration_seconds: durationSeconds,
      has_audio: hasAudio,
    };
    if (await deps.database.complete(task, output)) {
      deps.log.info("output_stored", { predictionId: task.id, step: task.step, bytes: output.bytes });
      return;
    }
    deps.log.warn("output_too_late", { predictionId: task.id });
  } catch (error) {
    if (!(error instanceof OutputError || error instanceof StorageError)) throw error;
    if ((await recordProblem(task, error, deps)) === "later") return;
  }
  // A file must not stay when its prediction ended without it, which the database knows. If this call does not happen, the file is
  // removed when the lease expires.
  if (hasWritten) await deps.database.discardOutput(task);
}

type Copy = Awaited<ReturnType<typeof createCheckedCopy>>;

async function upload(file: StoredFile, copy: Copy, { storage }: Deps, signal: AbortSignal): Promise<void> {
  try {
    await storage.upload(file, copy.type, copy.body, signal);
  } catch (error) {
    copy.result(); // throws the error of the source, if that was the cause
    throw error;
  }
}

async function recordProblem(task: StoreTask, error: OutputError | StorageError, { database, log }: Deps) {
  const { code, message, again } = explain(error);
  log.warn("store_failed", { predictionId: task.id, code, reason: describeError(error) });
  // An output can be missing for a moment; missing twice in a row means that it has expired.
  if (again && (code !== "output_expired" || task.retry_reason !== code)) {
    return await database.retryLater(task, { code, message });
  }
  // Another run can give a valid file, but hardly a smaller one.
  const retryable = code !== "output_too_large";
  return (await database.fail(task, { code, message }, retryable)) ? "failed" : "too_late";
}

function explain(error: OutputError | StorageError): { code: string; message: string; again: boolean } {
  if (error instanceof OutputError) return error;
  if (error.status === 413) {
    const message = "The output is larger than Storage admits. An administrator can raise the limit.";
    return { code: "output_too_large", message, again: false };
  }
  return { code: "storage_unavailable", message: "The output could not be stored.", again: true };
}

import { describeError } from "../../../shared/provider/describe-error.ts";
import type { Deps } from "./deps.ts";
import { StorageError } from "./storage.ts";
import { identify, type RemoveTask } from "./task.ts";

/** Removes files that nobody needs any more, with one request for each bucket. What cannot be removed now is tried again. Throws DatabaseError. */
export async function removeFiles(task: RemoveTask, deps: Deps, signal: AbortSignal): Promise<void> {
  const { database, storage, log } = deps;
  const buckets = [...Map.groupBy(task.files, ({ bucket }) => bucket)];
  const remove = ([bucket, files]: (typeof buckets)[number]) =>
    storage.remove(
      bucket,
      files.map(({ name }) => name),
      signal,
    );
  const outcomes = await Promise.allSettled(buckets.map(remove));
  const problem: unknown = outcomes.find((outcome) => outcome.status === "rejected")?.reason;
  if (problem !== undefined && !(problem instanceof StorageError)) throw problem;

  await database.recordFilesRemoved(task.lease_token, problem === undefined);
  const counts = Object.fromEntries(buckets.map(([bucket, files]) => [bucket, files.length]));
  if (problem === undefined) log.info("files_removed", { ...identify(task), ...counts });
  else log.warn("files_not_removed", { ...identify(task), ...counts, reason: describeError(problem) });
}

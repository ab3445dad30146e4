import { describeError } from "../../../../shared/platform/log.ts";
import { type Storage, StorageError, type StoredFile } from "../files/storage.ts";
import type { Deps } from "./database.ts";
import { identify, type RemoveTask } from "./task.ts";

/** Removes files from Storage. Refused files are tried again, with growing pauses, until they are removed. Throws DatabaseError. */
export async function removeFiles(
  task: RemoveTask,
  { database, storage, log }: Deps,
  signal: AbortSignal,
): Promise<void> {
  const files = await database.beginRemoval(task);
  if (files === null) return;
  const problems: StorageError[] = [];
  const buckets = [...Map.groupBy(files, ({ bucket }) => bucket)];
  const removals = buckets.map(([bucket, files]) => removeFrom(storage, bucket, files, problems, signal));
  const refused = (await Promise.all(removals)).flat();

  await database.recordFilesRemoved(task, refused);
  const counts = Object.fromEntries(buckets.map(([bucket, files]) => [bucket, files.length]));
  const fields = { ...identify(task), ...counts };
  if (refused.length === 0) return log.info("files_removed", fields);
  log.warn("files_not_removed", { ...fields, refused: refused.length, reason: describeError(problems[0]) });
}

/** Statuses that are the same for every name. Null: no answer, or the task's time is over. 403 is not one: an app's trigger may refuse one file. */
const NOT_ABOUT_NAMES: readonly (number | null)[] = [null, 401, 408, 429, 502, 503, 504];

/**
 * Removes files of one bucket, normally in one request, and returns those that are refused. Storage refuses the whole request for one bad name,
 * even with a 403 or 500. Then each half is tried. A task's 100 files take at most 199 requests, one at a time, until its signal aborts.
 */
async function removeFrom(
  storage: Storage,
  bucket: StoredFile["bucket"],
  files: StoredFile[],
  problems: StorageError[],
  signal: AbortSignal,
): Promise<StoredFile[]> {
  try {
    const names = files.map(({ name }) => name);
    await storage.remove(bucket, names, signal);
    return [];
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    problems.push(error);
    if (files.length === 1 || NOT_ABOUT_NAMES.includes(error.status)) return files;
    const half = Math.ceil(files.length / 2);
    const first = await removeFrom(storage, bucket, files.slice(0, half), problems, signal);
    return [...first, ...(await removeFrom(storage, bucket, files.slice(half), problems, signal))];
  }
}

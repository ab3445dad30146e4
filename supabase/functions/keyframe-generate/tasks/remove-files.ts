import { describeError } from "../../../../shared/platform/log.ts";
import type { Deps } from "../database.ts";
import { type Storage, StorageError, type StoredFile } from "../files/storage.ts";
import { identify, type RemoveTask } from "./task.ts";

/** Requests for each bucket. A task whose names are all refused must end before its lease expires. */
const MAX_REQUESTS = 40;
/** Statuses that would be the same for every name; null: no answer. */
const NOT_ABOUT_NAMES: readonly (number | null)[] = [null, 401, 408, 429, 502, 503, 504];

/** Removes files from Storage. Those that Storage refuses are tried again later. Throws DatabaseError. */
export async function removeFiles(task: RemoveTask, deps: Deps, signal: AbortSignal): Promise<void> {
  const { database, storage, log } = deps;
  const buckets = [...Map.groupBy(task.files, ({ bucket }) => bucket)];
  const removals = await Promise.all(buckets.map(([bucket, files]) => removeFrom(storage, bucket, files, signal)));
  const refused = removals.flatMap((removal) => removal.refused);

  await database.recordFilesRemoved(task.lease_token, refused);
  const counts = Object.fromEntries(buckets.map(([bucket, files]) => [bucket, files.length]));
  if (refused.length === 0) return log.info("files_removed", { ...identify(task), ...counts });
  const problem = removals.find(({ problem }) => problem !== null)?.problem;
  log.warn("files_not_removed", {
    ...identify(task),
    ...counts,
    refused: refused.length,
    reason: describeError(problem),
  });
}

/**
 * Removes files of one bucket, normally in one request. Storage refuses the whole request for one bad name: then its halves are tried
 * separately, larger parts first, until the other files are removed.
 */
async function removeFrom(
  storage: Storage,
  bucket: StoredFile["bucket"],
  files: StoredFile[],
  signal: AbortSignal,
): Promise<{ refused: StoredFile[]; problem: StorageError | null }> {
  const parts = [files];
  const refused: StoredFile[] = [];
  let problem: StorageError | null = null;
  let requests = 0;
  let isAway = false;
  for (const part of parts) {
    if (isAway || ++requests > MAX_REQUESTS) {
      refused.push(...part);
      continue;
    }
    const names = part.map(({ name }) => name);
    try {
      await storage.remove(bucket, names, signal);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      problem = error;
      isAway = NOT_ABOUT_NAMES.includes(error.status);
      const half = Math.ceil(part.length / 2);
      if (isAway || part.length === 1) refused.push(...part);
      else parts.push(part.slice(0, half), part.slice(half));
    }
  }
  return { refused, problem };
}

import { pause } from "../../shared/platform/retry.ts";
import { shiftTime } from "./database-faults.ts";
import { describeWork } from "./invariants/invariants.ts";
import { codeOf, isUnanswered, untilAnswered } from "./users.ts";
import { type Ledger, retryUntilDone, type World } from "./world.ts";

const CHECK_EVERY_MS = 1_000;
/** When nothing has changed for this long, the rest waits for leases to expire or for back-offs. */
const UNCHANGED_MS = 6_000;
const MOVE_S = 120;

/**
 * Waits until no work is left, for at most so many seconds. When all that is left waits for leases or back-offs, the
 * times are moved by two minutes (shiftTime).
 */
export async function waitUntilIdle(world: World, seconds: number, say: (line: string) => void): Promise<void> {
  const end = performance.now() + seconds * 1000;
  let last = "";
  let changedAt = performance.now();
  for (;;) {
    const left = await describeWork(world);
    if (left === "" || performance.now() > end) return;
    if (left !== last) {
      say(`left: ${left}`);
      [last, changedAt] = [left, performance.now()];
    } else if (performance.now() - changedAt > UNCHANGED_MS) {
      say("moved the times by two minutes");
      await shiftTime(world.sql, MOVE_S);
      changedAt = performance.now();
    }
    await pause(CHECK_EVERY_MS);
  }
}

/**
 * Repeats every unanswered start with the same key, as an app does, until it is accepted or refused. Returns how many
 * there were.
 */
export async function settleStarts({ starts }: Ledger): Promise<number> {
  const open = starts.filter(({ prediction_id, refusal }) => prediction_id === null && refusal === null);
  for (const start of open) {
    try {
      start.prediction_id = await untilAnswered(start.repeat);
      if (start.prediction_id === null) start.refusal = "deleted";
    } catch (error) {
      if (isUnanswered(error)) throw error;
      start.refusal = codeOf(error);
    }
  }
  return open.length;
}

/**
 * Of the users who have an output, every second deletes its project, so that each run tests a deletion. Returns how many
 * projects were deleted.
 */
export async function deleteSomeProjects({ sql, ledger, users }: World): Promise<number> {
  const made = await retryUntilDone(
    () => sql<{ id: string; owner: string }[]>`
      select distinct on (owner_id) project_id as id, owner_id as owner from keyframe.predictions
      where status = 'succeeded' order by owner_id, input #>> '{referenceImagePaths,0}' is null`,
  );
  const deleted = made.filter((_, at) => at % 2 === 0);
  for (const { id, owner } of deleted) {
    ledger.deletions.push({ id });
    const user = users.find(({ userId }) => userId === owner);
    await retryUntilDone(async () => user?.client.projects.delete(id), 10);
  }
  return deleted.length;
}

import { DatabaseError } from "../../../../shared/platform/call-database.ts";
import { describeError } from "../../../../shared/platform/log.ts";
import { COMMON_LIMITS, type WorkerLimits } from "../../../../shared/worker/limits.ts";
import { cancel } from "./cancel.ts";
import type { Claimed } from "./claim.ts";
import type { Deps } from "./database.ts";
import { poll } from "./poll.ts";
import { removeFiles } from "./remove-files.ts";
import { search } from "./search.ts";
import { submit } from "./submit.ts";
import { identify, type Task, task as taskSchema } from "./task.ts";

/** maxOpen is the sum of what capacity_of() in SQL allows: 96 for `ask` and 36 for `copy`. */
export const GENERATE_LIMITS: WorkerLimits = { ...COMMON_LIMITS, maxOpen: 132, workMs: 80_000 };

/** Runs a claimed task and records its result. Throws when the result could not be recorded. */
export async function runTask(claimed: Claimed, deps: Deps, signal: AbortSignal): Promise<void> {
  const parsed = taskSchema.safeParse(claimed);
  if (!parsed.success) {
    const fields = parsed.error.issues.map(({ path }) => path.join("."));
    return deps.log.error("task_unreadable", { task: claimed.task, ...identify(claimed), fields });
  }
  const task = parsed.data;
  try {
    await perform(task, deps, signal);
  } catch (error) {
    // After a failed database call the work is retried after growing intervals. If the call got no answer, the lease has to expire first.
    if (error instanceof DatabaseError && error.code !== "")
      await deps.database
        .retryWork(task, error.code)
        .catch((failure) => deps.log.warn("work_not_returned", { ...identify(task), reason: describeError(failure) }));
    throw error;
  }
}

async function perform(task: Task, deps: Deps, signal: AbortSignal): Promise<void> {
  switch (task.task) {
    case "submit":
      return await submit(task, deps, signal);
    case "search":
      return await search(task, deps, signal);
    case "poll":
      return await poll(task, deps, signal);
    case "store":
      // Loaded with the first output, because node:crypto takes a fifth of the function's start.
      return await (await import("./store.ts")).store(task, deps, signal);
    case "cancel":
      return await cancel(task, deps, signal);
    case "remove":
      return await removeFiles(task, deps, signal);
    case "expire":
    case "give_up":
      return await deps.database.expire(task);
    case "admit":
    case "continue":
      return await deps.database.admit(task);
  }
}

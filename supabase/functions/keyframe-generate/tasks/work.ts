import { cancel } from "./cancel.ts";
import type { Claimed } from "../database.ts";
import type { Deps } from "../deps.ts";
import { poll } from "./poll.ts";
import { removeFiles } from "./remove-files.ts";
import { search } from "./search.ts";
import { store } from "./store.ts";
import { submit } from "./submit.ts";
import { identify, task as taskSchema } from "./task.ts";

/** Does a claimed task to its end, which is a row's new state. Throws when that could not be recorded. */
export function createWork(deps: Deps): (claimed: Claimed, signal: AbortSignal) => Promise<void> {
  return async (claimed, signal) => {
    const parsed = taskSchema.safeParse(claimed);
    if (!parsed.success) {
      const fields = parsed.error.issues.map(({ path }) => path.join("."));
      deps.log.error("task_unreadable", { task: claimed.task, ...identify(claimed), fields });
      return;
    }
    const task = parsed.data;
    switch (task.task) {
      case "submit":
        return await submit(task, deps, signal);
      case "search":
        return await search(task, deps, signal);
      case "poll":
        return await poll(task, deps, signal);
      case "store":
        return await store(task, deps, signal);
      case "cancel":
        return await cancel(task, deps, signal);
      case "remove":
        return await removeFiles(task, deps, signal);
    }
  };
}

import { z } from "zod";
import { NOBODY } from "../auth/verify-session.ts";
import { writes } from "../runbook/database-problems.ts";
import type { Database } from "./database.ts";

const healthAnswer = z.object({ schema: z.string().nullable(), writes });

/** Whether the database works. Anyone may call, so a process calls the database once at a time: concurrent callers share the answer. */
export function createHealthCall(database: Database) {
  let open: Promise<z.infer<typeof healthAnswer>> | null = null;
  return () => {
    open ??= database.read("health", {}, NOBODY, healthAnswer).finally(() => {
      open = null;
    });
    return open;
  };
}

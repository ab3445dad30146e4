import { z } from "zod";
import type { CallDatabase } from "../../../../shared/platform/call-database.ts";
import type { ClaimRequest } from "../../../../shared/worker/worker.ts";

/** How many tasks one claim leases from each queue. */
const CLAIM_AT_ONCE = 10;

const claimed = z.object({
  tasks: z.array(z.looseObject({ task: z.string(), id: z.string() })),
  cursors: z.record(z.string(), z.unknown()),
  /** Whether more is probably due. */
  more: z.boolean(),
});
export type Claimed = z.infer<typeof claimed>["tasks"][number];

/**
 * Leases due tasks for this worker. If nothing is free, or the worker stops, it only records a heartbeat.
 * `pollSeconds` is the interval of polls, or null for the database's default.
 */
export function createClaim(call: CallDatabase, pollSeconds: number | null, address?: string) {
  const worker_id = crypto.randomUUID();
  let cursors = {};
  return async ({ free, isStopping, heartbeatMs, waitMs, callMs }: ClaimRequest) => {
    const answer = await call("claim_tasks", {
      worker_id,
      max_rows: isStopping ? 0 : Math.min(free, CLAIM_AT_ONCE),
      heartbeat_ms: heartbeatMs,
      wait_ms: waitMs,
      report: { callMs: Math.round(callMs), isProcess: address !== undefined, address },
      cursors,
      poll_seconds: pollSeconds,
    });
    const claim = claimed.parse(answer);
    cursors = claim.cursors;
    return { items: claim.tasks, more: claim.more };
  };
}

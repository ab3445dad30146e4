import { COMMON_LIMITS, type WorkerLimits } from "../../../shared/worker/worker-limits.ts";

export const GENERATE_LIMITS: WorkerLimits = { ...COMMON_LIMITS, maxOpen: 32, workMs: 80_000 };

/** Longer than a task and the recording of its result may take: work must have stopped when its lease expires. */
export const LEASE_SECONDS = 90;

/** How many tasks of each kind one claim leases. */
export const CLAIM_AT_ONCE = 10;

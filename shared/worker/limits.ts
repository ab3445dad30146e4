/** The time limits of both functions' workers, in milliseconds. */
export const COMMON_LIMITS = {
  /** A run leases nothing after this. With its last claim (10 s), workMs (80 s) and abortGraceMs it ends by 125 s; the platform allows 150 s. */
  maxRunMs: 30_000,
  /** Grace after an abort: work that runs longer counts as ended. */
  abortGraceMs: 5_000,
  /** How long the worker keeps claiming after its last work, so that new work starts without a kick. */
  idleGraceMs: 2_000,
  /** The longest pause between two claims. If nothing is due, the worker spends it in the database. */
  claimEveryMs: 100,
  /** How long the heartbeat of a claim is valid. Postgres sends no kick meanwhile. */
  heartbeatMs: 300,
  /** The same limits for a process that had no work for quietAfterMs: a fifth of the calls, and a check every 10 ms (wait_for_due). */
  quietAfterMs: 60_000,
  quiet: { claimEveryMs: 500, heartbeatMs: 1_500 },
  /** Results wait this long after a call for others, unless nothing is open. */
  recordAfterMs: 20,
  /** Longest gap between calls while the last work finishes; each retries unrecorded results. */
  endingEveryMs: 2_000,
  /** The first and the longest pause after a call that failed. Each further failure doubles it. */
  minDelayMs: 250,
  maxDelayMs: 2_000,
  /** When no work is open, and results cannot be recorded for this long, the run ends. Without results it ends at the first failure. */
  giveUpAfterMs: 20_000,
  /** A call that takes this long, without its wait, is logged, but at most once in slowLogEveryMs. */
  slowCallMs: 1_000,
  slowLogEveryMs: 10_000,
};

/** `workMs`: after this time the signal of a piece of work aborts. */
export type WorkerLimits = typeof COMMON_LIMITS & { maxOpen: number; workMs: number };

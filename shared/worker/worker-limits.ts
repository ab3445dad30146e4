/** Milliseconds, except the counts. */
export type WorkerLimits = {
  /** How long one run claims. With workMs and giveUpAfterMs far below the platform's limit of 150 s. */
  maxRunMs: number;
  maxOpen: number;
  /** After this the signal of a piece of work aborts; after abortGraceMs more it counts as ended. */
  workMs: number;
  abortGraceMs: number;
  /** How long the worker keeps claiming after its last work: new work then starts without a kick. */
  idleGraceMs: number;
  /** The longest pause between two claims. With nothing due it is spent in the database. */
  claimEveryMs: number;
  /** How long the heartbeat of a claim is valid. Postgres sends no kick meanwhile. */
  heartbeatMs: number;
  /** Results wait this long after a call for others, unless there are recordAt of them or nothing is open. */
  recordAfterMs: number;
  recordAt: number;
  /** The longest pause between two calls while the last work ends: leases are renewed with each. */
  renewEveryMs: number;
  /** The pause after a failed call. It doubles with each failure, up to maxRetryDelayMs. */
  retryDelayMs: number;
  maxRetryDelayMs: number;
  giveUpAfterMs: number;
  /** A call of the database that takes so long is logged, at most once in slowLogEveryMs. */
  slowCallMs: number;
  slowLogEveryMs: number;
};

/** What both workers have in common. */
export const COMMON_LIMITS = {
  maxRunMs: 30_000,
  abortGraceMs: 5_000,
  idleGraceMs: 2_000,
  claimEveryMs: 100,
  heartbeatMs: 300,
  recordAfterMs: 20,
  recordAt: 80,
  renewEveryMs: 2_000,
  retryDelayMs: 250,
  maxRetryDelayMs: 2_000,
  giveUpAfterMs: 20_000,
  slowCallMs: 1_000,
  slowLogEveryMs: 10_000,
};

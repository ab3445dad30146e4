/** Milliseconds, except leaseSeconds and the counts. */
export type WorkerLimits = {
  /** How long one run claims new deliveries. With a request's 15 s and giveUpAfterMs far below the platform's limit of 150 s. */
  maxRunMs: number;
  /** Longer than a request and the recording of its result may take. */
  leaseSeconds: number;
  /** Concurrent requests in all. The database limits those of one endpoint. */
  maxInFlight: number;
  claimAtOnce: number;
  /** A call is made when a result has waited this long, or when there are `recordAt` results. */
  recordAfterMs: number;
  recordAt: number;
  recordAtOnce: number;
  /** Results do not wait for requests older than this. */
  slowAfterMs: number;
  /** How long the worker keeps claiming after its last work: new deliveries then start without a kick. */
  idleGraceMs: number;
  claimEveryMs: number;
  /** How long the heartbeat of a claim is valid. Postgres sends no kick meanwhile. */
  heartbeatMs: number;
  /** The pause after a failed call. It doubles with each failure, up to maxRetryDelayMs. */
  retryDelayMs: number;
  maxRetryDelayMs: number;
  /** When the database has been away this long, results are dropped. */
  giveUpAfterMs: number;
};

export const WORKER_LIMITS: WorkerLimits = {
  maxRunMs: 30_000,
  leaseSeconds: 30,
  maxInFlight: 400,
  claimAtOnce: 200,
  recordAfterMs: 20,
  recordAt: 40,
  recordAtOnce: 200,
  slowAfterMs: 100,
  idleGraceMs: 2_000,
  claimEveryMs: 100,
  heartbeatMs: 300,
  retryDelayMs: 250,
  maxRetryDelayMs: 2_000,
  giveUpAfterMs: 20_000,
};

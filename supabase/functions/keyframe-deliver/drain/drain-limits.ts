/** Milliseconds, but for leaseSeconds and the counts. */
export type DrainLimits = {
  /** How long one run takes on new deliveries. With a request's 15 s and giveUpAfter well below the platform's 150 s. */
  lookFor: number;
  /** Longer than a request may take, and what recording its result may take. */
  leaseSeconds: number;
  /** Requests under way at once, in all. What one endpoint may have of them is the database's to say. */
  maxInFlight: number;
  claimAtOnce: number;
  /** Results wait for each other so long, or until they are so many. */
  recordAfter: number;
  recordAt: number;
  recordAtOnce: number;
  /** For requests older than this, the results of others do not wait. */
  slowAfter: number;
  /** With nothing due it goes on looking so long: what is committed then is sent at once instead of after a kick. */
  linger: number;
  lookEvery: number;
  /** What each look promises: while it holds, Postgres sends no kick. */
  promise: number;
  /** After a failed call the next one waits so long, twice as long each time, up to retryAtMost. */
  retryEvery: number;
  retryAtMost: number;
  /** With the database away for so long, results are given up. */
  giveUpAfter: number;
};

export const DRAIN_LIMITS: DrainLimits = {
  lookFor: 30_000,
  leaseSeconds: 30,
  maxInFlight: 400,
  claimAtOnce: 200,
  recordAfter: 20,
  recordAt: 40,
  recordAtOnce: 200,
  slowAfter: 100,
  linger: 2_000,
  lookEvery: 100,
  promise: 300,
  retryEvery: 250,
  retryAtMost: 2_000,
  giveUpAfter: 20_000,
};

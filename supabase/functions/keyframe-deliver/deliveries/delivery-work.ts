import { DatabaseError } from "../../../../shared/platform/call-database.ts";
import type { Log } from "../../../../shared/platform/log.ts";
import type { Clock } from "../../../../shared/platform/clock.ts";
import { COMMON_LIMITS, type WorkerLimits } from "../../../../shared/worker/limits.ts";
import type { ClaimRequest } from "../../../../shared/worker/worker.ts";
import type { AttemptResult, Delivery, Exchange } from "./database.ts";
import { createLeased } from "./leased.ts";
import { type Batch, createResults, NO_BATCH } from "./results.ts";

/** maxOpen is what capacity_of() in SQL allows for `deliver`. workMs is longer than the 15 s to which post.ts limits a request. */
export const DELIVER_LIMITS: WorkerLimits = { ...COMMON_LIMITS, maxOpen: 440, workMs: 25_000 };

/** Limits one call of the database, because results wait for it. */
export const DATABASE_TIMEOUT_MS = 5_000;

/**
 * How long after its claim a request may still start. The rest of the 30 s lease (lease_of in SQL) is for the request (up to 15 s) and for
 * recording its result.
 */
const BEGIN_WITHIN_MS = 10_000;

/**
 * Limits the total size of one call's bodies (up to 20 kB each), because other events wait for the call. It is enough for maxOpen events of
 * the usual size. With 2 MB, two thousand events of 16 kB delayed other events by 360 ms (p95); with this limit, by 180 ms.
 */
const MAX_BYTES = 500_000;

type DeliveryWorkSettings = {
  exchange: Exchange;
  /** Makes one attempt. If it rejects, there is no result to record, and the lease expires. */
  attempt(delivery: Delivery): Promise<AttemptResult>;
  log: Log;
  clock: Clock;
  address?: string | undefined;
};

/** `heartbeatMs`: null records no heartbeat. `waitMs`: how long the call may wait for work. `callMs`: how long the last call took. */
type Call = { heartbeatMs: number | null; callMs: number; maxRows?: number; waitMs?: number; batch?: Batch };

/** What a worker of deliver does: it claims deliveries, sends them, and records the results. */
export function createDeliveryWork({ exchange, attempt, log, clock, address }: DeliveryWorkSettings) {
  const worker_id = crypto.randomUUID();
  const leased = createLeased(clock.now);
  const results = createResults(clock.now, log);
  const open = new Set<string>();
  let cursors: unknown = {};

  async function deliver(delivery: Delivery): Promise<void> {
    let hasFailed = true;
    open.add(delivery.id);
    try {
      const result = await attempt(delivery);
      results.add(result);
      hasFailed = result.error !== null;
    } finally {
      open.delete(delivery.id);
      leased.end(delivery, hasFailed);
    }
  }

  /** Records a batch of results (by default the next one) and leases at most maxRows. Returns whether more is probably due. */
  async function call({ heartbeatMs, callMs, maxRows = 0, waitMs = 0, batch = results.nextBatch() }: Call) {
    const calledAt = clock.now();
    const returned = leased.drainReturned();
    const answer = await exchange({
      results: batch.results,
      returned,
      worker_id,
      max_rows: maxRows,
      max_bytes: MAX_BYTES,
      heartbeat_ms: heartbeatMs,
      wait_ms: waitMs,
      report: { callMs: Math.round(callMs), isProcess: address !== undefined, address },
      cursors,
    }).catch((error) => {
      batch.onFailed(error);
      leased.returnAgain(returned);
      throw error;
    });
    batch.onRecorded(answer.unrecorded);
    cursors = answer.cursors;
    const isHere = (id: string) => open.has(id) || results.has(id);
    for (const endpoint of answer.endpoints) leased.add(endpoint, calledAt + BEGIN_WITHIN_MS, isHere);
    return answer.more;
  }

  /** Records the next result by itself. True: the database refused it, so it is retried later and must not delay the claim. */
  async function recordOne(heartbeatMs: number, callMs: number): Promise<boolean> {
    try {
      await call({ heartbeatMs, callMs });
      return false;
    } catch (error) {
      if (error instanceof DatabaseError && error.code !== "") return true;
      throw error;
    }
  }

  /** Leases up to the limits in SQL, however many requests are open. `next` starts a delivery whose endpoint is busy when another one ends. */
  async function claim({ isStopping, heartbeatMs, waitMs, callMs }: Omit<ClaimRequest, "free">) {
    if (isStopping) leased.giveAllBack();
    let isRefused = false;
    while (results.goesAlone() && !isRefused) isRefused = await recordOne(heartbeatMs, callMs);
    const batch = isRefused ? NO_BATCH : results.nextBatch();
    const more = await call({ maxRows: isStopping ? 0 : DELIVER_LIMITS.maxOpen, heartbeatMs, waitMs, callMs, batch });
    return { items: leased.begin(), more };
  }

  return {
    work: deliver,
    claim,
    results: {
      ready: results.ready,
      pending: results.pending,
      async record(callMs: number): Promise<void> {
        leased.giveAllBack();
        await call({ heartbeatMs: null, callMs });
      },
      next: leased.begin,
    },
  };
}

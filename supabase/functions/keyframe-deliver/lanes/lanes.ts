import type { Log } from "../../../../shared/platform/log.ts";
import { createCallSize } from "../../../../shared/worker/call-size.ts";
import type { Clock } from "../../../../shared/worker/clock.ts";
import { createPlaces } from "../../../../shared/worker/places.ts";
import { COMMON_LIMITS, type WorkerLimits } from "../../../../shared/worker/worker.ts";
import type { AttemptResult, Delivery, Exchange, ExchangeArguments, Exchanged } from "./database.ts";
import { describeLeased } from "./describe-leased.ts";
import { createLeasedLanes, type Send } from "./leased-lanes.ts";
import { createResults } from "./results.ts";

/** workMs is longer than a request's 15 s, which post.ts limits. */
export const DELIVER_LIMITS: WorkerLimits = { ...COMMON_LIMITS, maxOpen: 440, workMs: 25_000 };

/** Results wait behind a call, and so do renewals. */
export const DATABASE_TIMEOUT_MS = 5_000;

/** Twice the longest call. A worker that dies or freezes delays its lanes by so much. */
export const LEASE_SECONDS = 10;

/** A request must start within this time of the start of the call that renewed its lane. Leases with less than that left are renewed. */
const START_WITHIN_MS = (LEASE_SECONDS * 2_000) / 3;

/** A request that takes longer is slow: it occupies a place that others need. */
const SLOW_MS = 3_000;
/** How many requests a receiver's host may have open before it has answered one quickly. */
const HOST_FIRST = 8;
/** Part of maxOpen. Eight hosts that begin to hang at once leave 36 for the others. */
const RESERVE = 40;

const MAX_LANES = 500;

/** A call must not bring more than its time allows: bodies have up to 33 kB. With 20 kB each lane that is taken gets one. */
const LARGEST_CALL = { lanes: 100, deliveries: 800, bytes: 2_000_000 };
/** Of the largest call; a lane then gets a body as before. */
const SMALLEST_SHARE = 1 / 64;

type Claiming = Pick<ExchangeArguments, "heartbeat_ms" | "wait_ms"> &
  Pick<ExchangeArguments["claim"], "max_lanes" | "max_bytes"> & {
    /** How many deliveries may be with the worker; null: it ends. */
    most: number | null;
  };

type LanesSettings = {
  exchange: Exchange;
  /** Makes one attempt. A rejection has no result to record: the lane is left to expire. */
  attempt(delivery: Delivery): Promise<AttemptResult>;
  log: Log;
  clock: Clock;
  address?: string | undefined;
};

/** The lanes that this process leases, as the queue of its worker. places.ts limits the open requests. */
export function createLanes({ exchange, attempt, log, clock, address }: LanesSettings) {
  const places = createPlaces({
    places: DELIVER_LIMITS.maxOpen - RESERVE,
    reserve: RESERVE,
    slowMs: SLOW_MS,
    sharedFirst: HOST_FIRST,
    now: clock.now,
  });
  const lanes = createLeasedLanes(places, clock.now);
  const results = createResults(clock.now, log);
  const size = createCallSize(SMALLEST_SHARE);
  let hasFailed = false;

  async function work(send: Send): Promise<void> {
    const { lane, endpoint, delivery } = send;
    try {
      const result = await attempt(delivery);
      results.add(lane.id, result);
      // What is sent after a failure depends on its record: the endpoint may be disabled, or get one request at a time.
      if (result.error !== null) endpoint.queue = [];
    } catch (error) {
      lanes.drop(lane);
      throw error;
    } finally {
      lanes.end(send);
    }
  }

  /** Sends the results and the leased lanes. Returns whether more lanes wait. */
  async function call({ most, max_lanes, max_bytes, ...claiming }: Claiming, callMs: number): Promise<boolean> {
    const calledAt = clock.now();
    const { given, settle } = results.give();
    const { open, slow } = places.counts();
    const { unrecorded, claim, claim_error } = await exchange({
      ...claiming,
      results: given,
      claim: {
        lanes: describeLeased(lanes.all(), results.deliveriesByLane(), most),
        ...{ max_lanes, max_bytes, lease_seconds: LEASE_SECONDS },
      },
      one_by_one: hasFailed,
      report: {
        ...{ callMs: Math.round(callMs), openRequests: open, slowRequests: slow },
        ...{ places: places.report(), isProcess: address !== undefined, address },
      },
    });
    settle(unrecorded);
    if (claim === null) throw new Error(`The database could not claim deliveries, code ${claim_error}`);
    for (const aside of claim.set_aside) log.error("row_set_aside", aside);
    accept(claim, calledAt + START_WITHIN_MS);
    return claim.others_wait;
  }

  function accept(claim: NonNullable<Exchanged["claim"]>, startUntil: number): void {
    for (const endpoint of lanes.endpoints()) endpoint.maxOpen = claim.max_open[endpoint.id] ?? 0;
    // Before the new endpoints: a lost lane may have been taken again, with a new token and without its old queue.
    for (const laneId of claim.lost) lanes.lose(laneId);
    // A failure during the call has emptied the queue: what the call brought would overtake that.
    const failed = results.failedEndpoints();
    for (const each of claim.endpoints) lanes.add(failed.has(each.endpoint_id) ? { ...each, deliveries: [] } : each);
    lanes.keep(claim.kept, startUntil);
  }

  /** After a call that failed, results are recorded first: they do not wait for a claim that may fail again. */
  async function claim(room: number, heartbeat_ms: number, wait_ms: number, callMs: number) {
    const ask = (claiming: Omit<Claiming, "heartbeat_ms">) =>
      call({ ...claiming, heartbeat_ms }, callMs).catch((error) => {
        size.failed();
        hasFailed = true;
        throw error;
      });
    if (hasFailed && results.ready() > 0) await ask({ ...NOTHING, most: 0 });
    const max_lanes = Math.max(0, Math.min(room, size.of(LARGEST_CALL.lanes), MAX_LANES - lanes.count()));
    const isEnding = room === 0 && heartbeat_ms === 0;
    const [most, max_bytes] = [isEnding ? null : size.of(LARGEST_CALL.deliveries), size.of(LARGEST_CALL.bytes)];
    const othersWait = await ask({ max_lanes, most, max_bytes, wait_ms });
    size.succeeded();
    hasFailed = false;
    return { items: lanes.start(), more: othersWait };
  }

  return {
    work,
    claim,
    results: {
      ready: results.ready,
      pending: results.pending,
      record: async (callMs: number) => void (await call({ ...NOTHING, most: null, heartbeat_ms: null }, callMs)),
      next: lanes.start,
    },
  };
}

const NOTHING = { max_lanes: 0, max_bytes: 0, wait_ms: 0 };

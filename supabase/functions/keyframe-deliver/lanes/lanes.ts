import type { Log } from "../../../../shared/platform/log.ts";
import type { Clock } from "../../../../shared/worker/clock.ts";
import { COMMON_LIMITS, type WorkerLimits } from "../../../../shared/worker/worker-limits.ts";
import type {
  AttemptResult,
  ClaimedLane,
  Delivery,
  Exchange,
  Exchanged,
  ExchangeLimits,
  HeldLane,
} from "./database.ts";
import { createPaces, type Pace, SLOW_MS } from "./pace.ts";

/** workMs is longer than a request's 15 s, which post.ts limits. */
export const DELIVER_LIMITS: WorkerLimits = { ...COMMON_LIMITS, maxOpen: 400, workMs: 25_000 };

/** Results wait behind a call, and so do renewals. */
export const DATABASE_TIMEOUT_MS = 5_000;

/**
 * A worker that dies or freezes delays its lanes by so much. Five times the last call: while the database is slow, leases are longer. At the
 * end of a run, when calls are seconds apart, the longest, which is three times the longest call.
 */
export const LEASE_SECONDS = { shortest: 3, longest: 15, calls: 5 };

/** A request begins in this part of the lease, counted from the beginning of the call: another worker takes the lane later. */
export const START_WITHIN = 2 / 3;

const MAX_LANES = 500;
const LANES_AT_ONCE = 100;
const LANES_WHEN_CROWDED = 20;
const CROWDED_MS = 1_000;
/** An endpoint begins with one request open. Bodies have up to 20 kB: a call must bring neither more than it can in its time nor fill the memory. */
const NEW_LANE = { most: 8, room_of_new: 2 };
const MAX_QUEUED = 800;

/** A result that could not be recorded is given again after this time, and dropped after the second one: its delivery is sent again. */
const RECORD_AGAIN_MS = 1_000;
const RECORD_WITHIN_MS = 60_000;

/** `open`: the requests by delivery, and when each began. */
type Endpoint = { id: string; maxOpen: number; queue: Delivery[]; open: Map<string, number>; pace: Pace };

/** An owner's deliveries. `open`: how many of its requests are open. Nothing is started after `until`. */
type Lane = {
  id: string;
  token: string;
  endpoints: Map<string, Endpoint>;
  open: number;
  until: number;
  /** At the last call it had no request open. */
  hasWaited: boolean;
};

/** A request to send, counted as open. */
export type Send = { lane: Lane; endpoint: Endpoint; delivery: Delivery };

export type LanesSettings = {
  exchange: Exchange;
  /** Makes one attempt. A rejection has no result to record: the lane is left to expire. */
  attempt(delivery: Delivery): Promise<AttemptResult>;
  log: Log;
  clock: Clock;
};

/** The lanes that this process holds, as the queue of its worker. pace.ts has the rules on how many requests may be open. */
export function createLanes({ exchange, attempt, log, clock }: LanesSettings) {
  const lanes = new Map<string, Lane>();
  const paces = createPaces(DELIVER_LIMITS.maxOpen);
  /** `from`: when to record it, or to try again. `until`: when to give up. */
  let results: { result: AttemptResult; from: number; until: number }[] = [];
  const isReady = ({ from }: { from: number }) => from <= clock.now();

  /** Deliveries to send now. The lanes take turns, and so do the endpoints of a lane. */
  function next(): Send[] {
    const started: Send[] = [];
    const waiting = new Set(lanes.values());
    for (const lane of waiting) {
      const send = lane.until > clock.now() ? nextOf(lane) : null;
      waiting.delete(lane);
      if (send === null) continue;
      started.push(send);
      waiting.add(lane); // to the end
      lanes.delete(lane.id);
      lanes.set(lane.id, lane);
    }
    return started;
  }

  function nextOf(lane: Lane): Send | null {
    for (const endpoint of lane.endpoints.values()) {
      const [delivery] = endpoint.queue;
      if (delivery === undefined || !paces.mayStart(lane, endpoint)) continue;
      endpoint.queue.shift();
      endpoint.open.set(delivery.id, clock.now());
      paces.begin(lane);
      lane.endpoints.delete(endpoint.id);
      lane.endpoints.set(endpoint.id, endpoint); // to the end
      return { lane, endpoint, delivery };
    }
    return null;
  }

  async function work({ lane, endpoint, delivery }: Send): Promise<void> {
    const began = clock.now();
    try {
      const result = await attempt(delivery);
      results.push({ result, from: 0, until: clock.now() + RECORD_WITHIN_MS });
      // What is sent after a failure depends on its record: the endpoint may be disabled, or get one request at a time.
      if (result.error !== null) endpoint.queue = [];
    } catch (error) {
      if (lanes.get(lane.id) === lane) lanes.delete(lane.id);
      throw error;
    } finally {
      endpoint.open.delete(delivery.id);
      paces.end(lane, endpoint.pace, clock.now() - began);
    }
  }

  function accept({ laneId: id, token, endpoints }: ClaimedLane): void {
    const lane: Lane = lanes.get(id) ?? { id, token, endpoints: new Map(), open: 0, until: 0, hasWaited: false };
    for (const { endpointId, maxOpen, deliveries } of endpoints) {
      const endpoint: Endpoint = lane.endpoints.get(endpointId) ?? {
        ...{ id: endpointId, maxOpen, queue: [], open: new Map(), pace: paces.of(endpointId) },
      };
      endpoint.maxOpen = maxOpen;
      endpoint.queue.push(...deliveries);
      lane.endpoints.set(endpointId, endpoint);
    }
    lanes.set(id, lane);
  }

  function dropQueues({ endpoints }: Lane): void {
    for (const endpoint of endpoints.values()) endpoint.queue = [];
  }

  /** What the worker has of a lane besides the results that it gives with this call. `later`: those that it gives with another one. */
  function describeHeld(lane: Lane, later: typeof results, isClaiming: boolean, most: number): HeldLane {
    // A lane that has waited for a place since the last call gives its deliveries back: it would keep others from being taken.
    if (lane.open === 0 && lane.hasWaited && !paces.hasPlace(lane)) dropQueues(lane);
    lane.hasWaited = lane.open === 0;
    const sending: HeldLane["sending"] = {};
    const room: HeldLane["room"] = {};
    for (const endpoint of lane.endpoints.values()) {
      const ids = [...endpoint.open.keys(), ...endpoint.queue.map(({ id }) => id)];
      // Twice as many as may be open: the next request need not wait for a call.
      room[endpoint.id] = 2 * endpoint.pace.allowed - ids.length;
      if (ids.length > 0) sending[endpoint.id] = ids;
    }
    for (const { result } of later) {
      const { id, endpoint_id, lane_token } = result;
      if (lane_token === lane.token) sending[endpoint_id] = [...(sending[endpoint_id] ?? []), id];
    }
    return {
      lane_id: lane.id,
      token: lane.token,
      sending,
      more: isClaiming && most > 0 && paces.hasPlace(lane),
      most,
      room,
    };
  }

  function keepUnrecorded(given: typeof results, unrecorded: Exchanged["unrecorded"]): void {
    const reasons = new Map(unrecorded.map(({ id, reason }) => [id, reason]));
    results = results.filter((each) => {
      const reason = given.includes(each) ? reasons.get(each.result.id) : undefined;
      if (!given.includes(each)) return true;
      if (reason === undefined) return false;
      const { id: deliveryId, endpoint_id: endpointId } = each.result;
      const isOver = clock.now() >= each.until;
      const fields = { deliveryId, endpointId, reason };
      if (isOver) log.error("result_dropped", fields);
      else log.warn("result_not_recorded", fields);
      each.from = clock.now() + RECORD_AGAIN_MS;
      return !isOver;
    });
  }

  const endpointsOfAll = () => [...lanes.values()].flatMap((lane) => [...lane.endpoints.values()]);
  const countQueued = () => endpointsOfAll().reduce((sum, { queue }) => sum + queue.length, 0);
  /** How many requests have been open for longer than that. */
  const countOpen = (ms: number) =>
    endpointsOfAll().reduce(
      (sum, { open }) => sum + [...open.values()].filter((at) => clock.now() - at > ms).length,
      0,
    );

  async function call(
    limits: Omit<ExchangeLimits, "newLane" | "leaseSeconds" | "report">,
    callMs: number,
  ): Promise<Exchanged> {
    const isClaiming = limits.heartbeatMs !== null;
    const { shortest, longest, calls } = LEASE_SECONDS;
    // After a claim without a heartbeat, calls are seconds apart.
    const leaseSeconds = limits.heartbeatMs
      ? Math.min(longest, Math.max(shortest, Math.ceil((calls * callMs) / 1000)))
      : longest;
    const until = clock.now() + START_WITHIN * leaseSeconds * 1000;
    const { given = [], later = [] } = Object.groupBy(results, (each) => (isReady(each) ? "given" : "later"));
    // A worker that takes no more gives back what waits: it must end in time.
    if (!isClaiming) lanes.forEach(dropQueues);
    const most = Math.floor((MAX_QUEUED - countQueued()) / Math.max(1, lanes.size));
    const held = [...lanes.values()].map((lane) => describeHeld(lane, later, isClaiming, Math.max(0, most)));
    const answer = await exchange(
      given.map(({ result }) => result),
      held,
      {
        ...limits,
        newLane: NEW_LANE,
        leaseSeconds,
        report: { callMs: Math.round(callMs), openRequests: countOpen(-1), slowRequests: countOpen(SLOW_MS) },
      },
    );
    keepUnrecorded(given, answer.unrecorded);
    // First: one may have been taken again, with a new token and without its old queue.
    for (const laneId of answer.lost) lanes.delete(laneId);
    answer.lanes.forEach(accept);
    for (const lane of lanes.values()) {
      lane.until = until;
      for (const endpoint of lane.endpoints.values()) if (answer.ended.includes(endpoint.id)) endpoint.queue = [];
    }
    return answer;
  }

  return {
    work,
    async claim(room: () => number, heartbeatMs: number, waitMs: number, callMs: number) {
      // Beside many slow requests most lanes have no place: a few at a time find those that have one.
      const isCrowded = countOpen(CROWDED_MS) >= DELIVER_LIMITS.maxOpen / 4;
      const atOnce = isCrowded ? LANES_WHEN_CROWDED : LANES_AT_ONCE;
      const maxLanes = room() > 0 ? Math.max(0, Math.min(atOnce, MAX_LANES - lanes.size)) : 0;
      const { othersWait } = await call({ maxLanes, heartbeatMs, waitMs }, callMs);
      return { items: next(), more: othersWait && maxLanes > 0 && !isCrowded };
    },
    results: {
      ready: () => results.filter(isReady).length,
      pending: () => results.length,
      record: async (callMs: number) => void (await call({ maxLanes: 0, heartbeatMs: null, waitMs: 0 }, callMs)),
      next,
    },
  };
}

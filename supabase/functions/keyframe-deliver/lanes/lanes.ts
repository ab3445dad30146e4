import type { Log } from "../../../../shared/platform/log.ts";
import { type Clock, COMMON_LIMITS, type WorkerLimits } from "../../../../shared/worker/worker.ts";
import type { AttemptResult, ClaimedEndpoint, Delivery, Exchange, ExchangeArguments, HeldLane } from "./database.ts";
import { createPaces, type Pace, SLOW_MS } from "./pace.ts";

/** workMs is longer than a request's 15 s, which post.ts limits. */
export const DELIVER_LIMITS: WorkerLimits = { ...COMMON_LIMITS, maxOpen: 400, workMs: 25_000 };

/** Results wait behind a call, and so do renewals. */
export const DATABASE_TIMEOUT_MS = 5_000;

/** Twice the longest call. A worker that dies or freezes delays its lanes by so much. */
export const LEASE_SECONDS = 10;

/** A request begins so soon after the beginning of a call that kept its lane. Leases with less than that left are renewed. */
const START_WITHIN_MS = (LEASE_SECONDS * 2_000) / 3;

const MAX_LANES = 500;
const LANES_AT_ONCE = 100;
/** Bodies have up to 20 kB: a call must not bring more than its time allows, nor fill the memory. */
const MAX_QUEUED = 800;

/** A result that could not be recorded is given again after this time, and dropped after the second one: its delivery is sent again. */
const RECORD_AGAIN_MS = 1_000;
const RECORD_WITHIN_MS = 60_000;

/** `open`: the requests by delivery, and when each began. */
type Endpoint = { id: string; maxOpen: number; queue: Delivery[]; open: Map<string, number>; pace: Pace };

/** An owner's deliveries. `open`: how many of its requests are open. Nothing is started after startUntil. */
type Lane = Lease & { endpoints: Map<string, Endpoint>; open: number; pace: Pace };
type Lease = { id: string; token: string; startUntil: number };

/** A request to send, counted as open. */
export type Send = { lane: Lane; endpoint: Endpoint; delivery: Delivery };

/** A result to record at `from` or later. It is given up at `until`. */
type Recording = { laneId: string; result: AttemptResult; from: number; until: number };

type Claiming = Pick<ExchangeArguments, "max_lanes" | "heartbeat_ms" | "wait_ms">;

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
  let results: Recording[] = [];
  const isReady = ({ from }: Recording) => from <= clock.now();

  /** Deliveries to send now. The lanes take turns, and so do the endpoints of a lane. */
  function next(): Send[] {
    const started: Send[] = [];
    for (const lane of lanes.values()) {
      if (clock.now() >= lane.startUntil) continue;
      const endpoint = lane.endpoints.values().find((each) => each.queue.length > 0 && paces.mayStart(lane, each));
      const delivery = endpoint?.queue.shift();
      if (endpoint === undefined || delivery === undefined) continue;
      endpoint.open.set(delivery.id, clock.now());
      paces.begin(lane);
      started.push({ lane, endpoint, delivery });
      moveToEnd(lane.endpoints, endpoint);
      moveToEnd(lanes, lane); // where this loop comes to it again
    }
    return started;
  }

  async function work({ lane, endpoint, delivery }: Send): Promise<void> {
    const began = clock.now();
    try {
      const result = await attempt(delivery);
      results.push({ laneId: lane.id, result, from: 0, until: clock.now() + RECORD_WITHIN_MS });
      // What is sent after a failure depends on its record: the endpoint may be disabled, or get one request at a time.
      if (result.error !== null) endpoint.queue = [];
    } catch (error) {
      if (lanes.get(lane.id) === lane) lanes.delete(lane.id);
      throw error;
    } finally {
      endpoint.open.delete(delivery.id);
      paces.end(lane, endpoint, clock.now() - began);
    }
  }

  function accept({ lane_id: laneId, token, endpoint_id, max_open, url, secrets, deliveries }: ClaimedEndpoint): void {
    const pace = paces.of("lane", laneId);
    const lane: Lane = lanes.get(laneId) ?? { id: laneId, token, startUntil: 0, endpoints: new Map(), open: 0, pace };
    const newEndpoint = { id: endpoint_id, queue: [], open: new Map(), pace: paces.of("endpoint", endpoint_id) };
    const endpoint: Endpoint = lane.endpoints.get(endpoint_id) ?? { ...newEndpoint, maxOpen: max_open };
    endpoint.queue.push(...deliveries.map((delivery) => ({ ...delivery, endpoint_id, url, secrets })));
    lane.endpoints.set(endpoint_id, endpoint);
    lanes.set(laneId, lane);
  }

  const endpointsOfAll = () => [...lanes.values()].flatMap(({ endpoints }) => [...endpoints.values()]);
  /** Since when each open request has been. */
  const openOfAll = () => endpointsOfAll().flatMap(({ open }) => [...open.values()]);
  const countSlow = (ms: number) => openOfAll().filter((at) => clock.now() - at > ms).length;

  /** What the worker has of its lanes, and how much more it takes. */
  function describeHeld(isClaiming: boolean): HeldLane[] {
    const unrecorded = Map.groupBy(results, ({ laneId }) => laneId);
    // What cannot be sent soon would keep others from being taken; a worker that claims no more must end in time.
    const waits = (lane: Lane, endpoint: Endpoint) =>
      !isClaiming ||
      endpoint.maxOpen === 0 ||
      ((lane.open === 0 || endpoint.pace.allowed === 1) && !paces.mayStart(lane, endpoint));
    // Four times as many as may be open: a call takes as long as a few requests. Twice: 0.6 of the best job queue instead of 0.8.
    const roomOf = (lane: Lane, endpoint: Endpoint) => {
      const { maxOpen, queue, open, pace } = endpoint;
      return waits(lane, endpoint) ? 0 : Math.max(0, 4 * Math.min(pace.allowed, maxOpen) - open.size - queue.length);
    };
    const wantsMore = (lane: Lane) =>
      isClaiming &&
      paces.hasPlace(lane) &&
      (paces.mayTry(lane) || lane.endpoints.values().some((endpoint) => roomOf(lane, endpoint) > 0));

    for (const lane of lanes.values())
      for (const endpoint of lane.endpoints.values()) if (waits(lane, endpoint)) endpoint.queue = [];
    const queued = endpointsOfAll().reduce((sum, { queue }) => sum + queue.length, 0);
    const wanting = new Set(lanes.values().filter(wantsMore));
    const most = Math.floor((MAX_QUEUED - queued) / Math.max(1, wanting.size));
    return [...lanes.values()].map((lane) => {
      const endpoints = [...lane.endpoints.values()];
      return {
        lane_id: lane.id,
        token: lane.token,
        sending: [
          ...(unrecorded.get(lane.id) ?? []).map(({ result }) => result.id),
          ...endpoints.flatMap(({ open, queue }) => [...open.keys(), ...queue.map(({ id }) => id)]),
        ],
        room: Object.fromEntries(endpoints.map((endpoint) => [endpoint.id, roomOf(lane, endpoint)])),
        most: wanting.has(lane) ? most : 0,
      };
    });
  }

  /** Gives results and says which lanes the worker holds; heartbeat_ms null: it does not claim. Returns whether more lanes wait. */
  async function call(claiming: Claiming, callMs: number): Promise<boolean> {
    const calledAt = clock.now();
    const given = results.filter(isReady);
    const { unrecorded, claim, claim_error } = await exchange({
      ...claiming,
      results: given.map(({ result }) => result),
      held: describeHeld(claiming.heartbeat_ms !== null),
      lease_seconds: LEASE_SECONDS,
      report: { callMs: Math.round(callMs), openRequests: openOfAll().length, slowRequests: countSlow(SLOW_MS) },
    });
    results = results.filter((each) => !given.includes(each));
    for (const { id, endpoint_id, reason } of unrecorded) {
      const again = given.filter(({ result, until }) => result.id === id && clock.now() < until);
      results.push(...again.map((each) => ({ ...each, from: clock.now() + RECORD_AGAIN_MS })));
      const fields = { deliveryId: id, endpointId: endpoint_id, reason };
      if (again.length > 0) log.warn("result_not_recorded", fields);
      else log.error("result_dropped", fields);
    }
    if (claim === null) throw new Error(`The database could not claim deliveries, code ${claim_error}`);
    for (const endpoint of endpointsOfAll()) endpoint.maxOpen = claim.max_open[endpoint.id] ?? 0;
    // Before the new endpoints: a lost lane may have been taken again, with a new token and without its old queue.
    for (const laneId of claim.lost) lanes.delete(laneId);
    // A failure during the call has emptied the queue: what the call brought would overtake that.
    const failed = new Set(
      results.filter(({ from, result }) => from === 0 && result.error !== null).map((each) => each.result.endpoint_id),
    );
    for (const each of claim.endpoints) accept(failed.has(each.endpoint_id) ? { ...each, deliveries: [] } : each);
    const kept = new Set(claim.kept);
    for (const lane of lanes.values()) if (kept.has(lane.id)) lane.startUntil = calledAt + START_WITHIN_MS;
    return claim.others_wait;
  }

  return {
    work,
    async claim(room: number, heartbeat_ms: number, wait_ms: number, callMs: number) {
      const max_lanes = Math.max(0, Math.min(room, LANES_AT_ONCE, MAX_LANES - lanes.size));
      const othersWait = await call({ max_lanes, heartbeat_ms, wait_ms }, callMs);
      const items = next();
      return { items, more: othersWait && items.length > 0 }; // beside many slow requests most lanes have no place
    },
    results: {
      ready: () => results.filter(isReady).length,
      pending: () => results.length,
      record: async (callMs: number) => void (await call({ max_lanes: 0, heartbeat_ms: null, wait_ms: 0 }, callMs)),
      next,
    },
  };
}

function moveToEnd<T extends { id: string }>(map: Map<string, T>, item: T): void {
  map.delete(item.id);
  map.set(item.id, item);
}

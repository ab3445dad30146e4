import type { Clock } from "../../../../shared/worker/clock.ts";
import { COMMON_LIMITS, type WorkerLimits } from "../../../../shared/worker/worker-limits.ts";
import type { AttemptResult, ClaimedLane, Delivery, Exchange, ExchangeLimits } from "./database.ts";

/** workMs is longer than a request's 15 s, which post.ts limits. */
export const DELIVER_LIMITS: WorkerLimits = { ...COMMON_LIMITS, maxOpen: 400, workMs: 25_000 };

/** While the worker claims, it calls every tenth of a second: one that dies or freezes delays its lanes by two seconds. */
export const LEASE_SECONDS = 2;

/** While its last requests end, it calls every five seconds. */
export const LAST_LEASE_SECONDS = 15;

/** Short, because results wait behind a call while the leases of their lanes run. */
export const DATABASE_TIMEOUT_MS = 5_000;

/** Postgres renews a lease when a quarter of it has passed, so a call guarantees the rest. */
const guaranteedMs = (leaseSeconds: number): number => leaseSeconds * 750;

const MAX_LANES = 400;
const LANES_AT_ONCE = 100;

type Lane = Omit<ClaimedLane, "deliveries"> & { queue: Delivery[]; open: Set<string>; until: number };

/** A request to send, counted as open. */
export type Send = { lane: Lane; delivery: Delivery };

export type LanesSettings = {
  exchange: Exchange;
  /** Makes one attempt. A rejection has no result to record: the lane is left to expire. */
  attempt(delivery: Delivery): Promise<AttemptResult>;
  clock: Clock;
};

/**
 * The lanes that this process holds, as the queue of its worker. A lane has at most maxOpen requests open. An owner has at most as many
 * as are left for all others, so that owners with many slow receivers leave room for everybody else.
 */
export function createLanes({ exchange, attempt, clock }: LanesSettings) {
  const lanes = new Map<string, Lane>();
  const openOf = new Map<string, number>();
  let openOfAll = 0;
  const results: AttemptResult[] = [];

  const mayStart = (lane: Lane) =>
    lane.open.size < lane.maxOpen && (openOf.get(lane.ownerId) ?? 0) < DELIVER_LIMITS.maxOpen - openOfAll;

  /** Counts a request of a lane that begins (1) or ends (-1). */
  function count(lane: Lane, by: 1 | -1): void {
    const open = (openOf.get(lane.ownerId) ?? 0) + by;
    openOfAll += by;
    if (open === 0) openOf.delete(lane.ownerId);
    else openOf.set(lane.ownerId, open);
  }

  /** Deliveries to send now. The lanes take turns. */
  function next(): Send[] {
    const started: Send[] = [];
    for (const lane of [...lanes.values()]) {
      const before = started.length;
      while (mayStart(lane) && lane.until > clock.now()) {
        const delivery = lane.queue.shift();
        if (delivery === undefined) break;
        lane.open.add(delivery.id);
        count(lane, 1);
        started.push({ lane, delivery });
      }
      if (started.length === before) continue;
      lanes.delete(lane.endpointId);
      lanes.set(lane.endpointId, lane);
    }
    return started;
  }

  async function work({ lane, delivery }: Send): Promise<void> {
    try {
      const result = await attempt(delivery);
      results.push(result);
      // What is sent after a failure depends on its record: the endpoint may be disabled, or get one request at a time.
      if (result.error !== null) lane.queue = [];
    } catch (error) {
      if (lanes.get(lane.endpointId) === lane) lanes.delete(lane.endpointId);
      throw error;
    } finally {
      lane.open.delete(delivery.id);
      count(lane, -1);
    }
  }

  function accept({ deliveries, ...claimed }: ClaimedLane): void {
    const held = lanes.get(claimed.endpointId);
    const lane = held?.token === claimed.token ? held : { ...claimed, queue: [], open: new Set<string>(), until: 0 };
    Object.assign(lane, claimed).queue.push(...deliveries);
    lanes.set(claimed.endpointId, lane);
  }

  /** Returns how many lanes it took. */
  async function call(limits: Omit<ExchangeLimits, "leaseSeconds">): Promise<number> {
    const leaseSeconds = limits.heartbeatMs ? LEASE_SECONDS : LAST_LEASE_SECONDS;
    const until = clock.now() + guaranteedMs(leaseSeconds);
    const sent = [...results];
    const held = [...lanes.values()].map((lane) => ({
      endpoint_id: lane.endpointId,
      token: lane.token,
      sending: [...lane.open, ...lane.queue.map(({ id }) => id)],
      more: limits.heartbeatMs !== null && lane.queue.length === 0 && mayStart(lane),
    }));
    const answer = await exchange(sent, held, { ...limits, leaseSeconds });
    results.splice(0, sent.length);
    const before = lanes.size;
    answer.lanes.forEach(accept);
    const taken = lanes.size - before;
    const filled = new Set(answer.lanes.map(({ endpointId }) => endpointId));
    for (const { endpoint_id, sending } of held) {
      // Postgres has released it.
      if (sending.length === 0 && !filled.has(endpoint_id)) lanes.delete(endpoint_id);
    }
    for (const lane of lanes.values()) lane.until = until;
    for (const endpointId of answer.ended) {
      const lane = lanes.get(endpointId);
      if (lane && !filled.has(endpointId)) lane.queue = [];
    }
    return taken;
  }

  return {
    work,
    async claim(room: () => number, heartbeatMs: number, waitMs: number) {
      const maxLanes = room() > 0 ? Math.min(LANES_AT_ONCE, MAX_LANES - lanes.size) : 0;
      const taken = await call({ maxLanes, heartbeatMs, waitMs });
      return { items: next(), more: taken > 0 && taken === maxLanes };
    },
    results: {
      count: () => results.length,
      record: async () => void (await call({ maxLanes: 0, heartbeatMs: null, waitMs: 0 })),
      next,
    },
  };
}

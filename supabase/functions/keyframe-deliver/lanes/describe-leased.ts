import type { LeasedLane } from "./database.ts";
import { type Endpoint, isOpen, type Lane, mayStart } from "./leased-lanes.ts";

/** Deliveries kept although they cannot start yet, if a place is free within briefMs: at most so many per host and in all. */
const WAITING = { briefMs: 500, ofHost: 20, ofAll: 100 };

/**
 * What the worker has of its lanes, and how much more it takes. `most`: deliveries in all; null: the worker ends and takes no more. Takes
 * out of the lanes what cannot begin soon, because it would keep others from being taken. A lane with nothing else is given back for
 * pause_ms.
 */
export function describeLeased(lanes: Lane[], unrecorded: Map<string, string[]>, most: number | null): LeasedLane[] {
  const pauses = most === null ? empty(lanes) : emptyStuck(lanes);
  const room = (most ?? 0) - lanes.reduce((sum, lane) => sum + queuedOf(lane).length, 0);
  const wanting = new Set(room > 0 ? lanes.filter(wantsMore) : []);
  return lanes.map((lane) => {
    const endpoints = [...lane.endpoints.values()];
    return {
      lane_id: lane.id,
      token: lane.token,
      sending: [
        ...(unrecorded.get(lane.id) ?? []),
        ...endpoints.flatMap(({ open, queue }) => [...open.keys(), ...queue.map(({ id }) => id)]),
      ],
      room: Object.fromEntries(endpoints.map((endpoint) => [endpoint.id, most === null ? 0 : roomOf(lane, endpoint)])),
      most: wanting.has(lane) ? Math.floor(room / wanting.size) : 0,
      pause_ms: pauses.get(lane) ?? 0,
    };
  });
}

const queuedOf = ({ endpoints }: Lane) => [...endpoints.values()].flatMap(({ queue }) => queue);

/** Nothing can begin, and nothing that is open and quick lets it begin when it ends. */
const isStuck = (lane: Lane, endpoint: Endpoint) =>
  endpoint.maxOpen === 0 || ((!isOpen(lane) || endpoint.line.allowed() === 1) && !mayStart(endpoint));

/** Four times as many as may be open: a call takes as long as a few requests. Twice: 0.6 of the best job queue instead of 0.8. */
function roomOf(lane: Lane, endpoint: Endpoint): number {
  const { maxOpen, queue, open, line } = endpoint;
  return isStuck(lane, endpoint) ? 0 : Math.max(0, 4 * Math.min(line.allowed(), maxOpen) - open.size - queue.length);
}

function wantsMore(lane: Lane): boolean {
  const [first] = lane.endpoints.values();
  if (!first?.line.ownerHasPlace("quick")) return false;
  return first.line.ownerHasPlace("unproven") || lane.endpoints.values().some((endpoint) => roomOf(lane, endpoint) > 0);
}

function empty(lanes: Lane[]): Map<Lane, number> {
  for (const lane of lanes) for (const endpoint of lane.endpoints.values()) endpoint.queue = [];
  return new Map();
}

/** Empties the queues of what cannot begin soon. Returns how long their lanes are to pause. */
function emptyStuck(lanes: Lane[]): Map<Lane, number> {
  const pauses = new Map<Lane, number>();
  const waiting = new Map<string, number>();
  let ofAll = 0;
  for (const lane of lanes) {
    for (const endpoint of lane.endpoints.values()) {
      if (endpoint.queue.length === 0 || !isStuck(lane, endpoint)) continue;
      const { host, line, maxOpen, open } = endpoint;
      const ofHost = waiting.get(host) ?? 0;
      const waitsForOthers = maxOpen > 0 && open.size === 0;
      const pauseMs = waitsForOthers ? line.pauseMs() : 0;
      if (waitsForOthers && pauseMs <= WAITING.briefMs && ofHost < WAITING.ofHost && ofAll < WAITING.ofAll) {
        waiting.set(host, ofHost + 1);
        ofAll += 1;
      } else {
        endpoint.queue = [];
        pauses.set(lane, Math.max(pauseMs, pauses.get(lane) ?? 0));
      }
    }
  }
  return pauses;
}

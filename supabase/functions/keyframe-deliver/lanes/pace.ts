/** A request that takes longer is slow: its place is missing to others. */
export const SLOW_MS = 3_000;

/** How many requests to an endpoint may be open. One: its last answer was not quick, or it has not answered yet. */
export type Pace = { allowed: number };

type PacedEndpoint = { maxOpen: number; open: { readonly size: number }; pace: Pace };
type PacedLane = { id: string; open: number; endpoints: ReadonlyMap<string, PacedEndpoint> };

/** How many requests an owner may have open at endpoints that have not answered quickly: after a slow answer one. */
const TRIALS = 2;
/** Above max_in_flight of every endpoint. */
const MAX_ALLOWED = 100;
/** More than the endpoints and owners of a process need; a few megabytes. */
const MAX_REMEMBERED = 10_000;

/**
 * How many requests of a process may be open, so that nobody's slow receivers hold up others. Slow start: an endpoint begins with one
 * request, each quick answer allows one more, a slow one takes it back to one. An owner's first request may have any of the places. Its
 * further ones, and those of an owner whose last answer was slow, share one half of the places, and an owner has at most as many of them
 * as are left there.
 */
export function createPaces(places: number) {
  const paces = new Map<string, Pace>();
  const slowLanes = new Set<string>();
  let open = 0;

  function trials(lane: PacedLane): number {
    let count = 0;
    for (const endpoint of lane.endpoints.values()) if (endpoint.pace.allowed === 1) count += endpoint.open.size;
    return count;
  }

  return {
    of(endpointId: string): Pace {
      let pace = paces.get(endpointId);
      if (pace === undefined) {
        if (paces.size >= MAX_REMEMBERED) paces.clear();
        pace = { allowed: 1 };
        paces.set(endpointId, pace);
      }
      return pace;
    },

    /** Whether a lane has a place for one more request, whatever its endpoint. */
    hasPlace(lane: PacedLane): boolean {
      if (lane.open === 0 && !slowLanes.has(lane.id)) return open < places;
      return open + lane.open < places / 2;
    },

    mayStart(lane: PacedLane, { maxOpen, open: ofEndpoint, pace: { allowed } }: PacedEndpoint): boolean {
      if (ofEndpoint.size >= Math.min(allowed, maxOpen) || !this.hasPlace(lane)) return false;
      return allowed > 1 || trials(lane) < (slowLanes.has(lane.id) ? 1 : TRIALS);
    },

    begin(lane: PacedLane): void {
      lane.open += 1;
      open += 1;
    },

    end(lane: PacedLane, pace: Pace, ms: number): void {
      lane.open -= 1;
      open -= 1;
      pace.allowed = ms > SLOW_MS ? 1 : Math.min(pace.allowed + 1, MAX_ALLOWED);
      if (ms <= SLOW_MS) slowLanes.delete(lane.id);
      else {
        if (slowLanes.size >= MAX_REMEMBERED) slowLanes.clear();
        slowLanes.add(lane.id);
      }
    },
  };
}

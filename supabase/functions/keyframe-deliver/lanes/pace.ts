/** A request that takes longer is slow: its place is missing to others. */
export const SLOW_MS = 3_000;

/** How many requests may be open. It grows with each quick answer; after a slow one it is one. */
export type Pace = { allowed: number };

type PacedEndpoint = { maxOpen: number; open: { readonly size: number }; pace: Pace };
type PacedLane = { open: number; pace: Pace; endpoints: ReadonlyMap<string, PacedEndpoint> };

/** An endpoint begins with one request open, an owner with two at endpoints that have not answered quickly. */
const FIRST = { endpoint: 1, lane: 2 };
/** More than the endpoints and owners of a process need; a few megabytes. */
const MAX_REMEMBERED = 20_000;

/**
 * How many requests of a process may be open, so that nobody's slow receivers hold up others. Slow start: each quick answer of an endpoint
 * allows one request more, a slow one takes it back to one. An owner's first request may have any of the places. Further requests, and all
 * of an owner whose last answer was slow, share one half of the places: an owner gets at most half of what the others leave free there.
 */
export function createPaces(places: number) {
  const paces = new Map<string, Pace>();
  let open = 0;

  function hasPlace({ open: ofLane, pace }: PacedLane): boolean {
    const isFirst = ofLane === 0 && pace.allowed > 1;
    return isFirst ? open < places : open + ofLane < places / 2;
  }

  /** Whether a lane may have one more request open at an endpoint that has not been quick. */
  function mayTry(lane: PacedLane): boolean {
    let trials = 0;
    for (const { pace, open } of lane.endpoints.values()) if (pace.allowed === 1) trials += open.size;
    return trials < Math.min(lane.pace.allowed, FIRST.lane);
  }

  return {
    mayTry,

    of(kind: keyof typeof FIRST, id: string): Pace {
      const key = `${kind} ${id}`; // the lane of a service-wide endpoint has its id
      const pace = paces.get(key) ?? { allowed: FIRST[kind] };
      if (paces.size >= MAX_REMEMBERED) paces.clear();
      paces.set(key, pace);
      return pace;
    },

    /** Whether a lane has a place for one more request, whatever its endpoint. */
    hasPlace,

    mayStart(lane: PacedLane, endpoint: PacedEndpoint): boolean {
      if (endpoint.open.size >= Math.min(endpoint.pace.allowed, endpoint.maxOpen) || !hasPlace(lane)) return false;
      return endpoint.pace.allowed > 1 || mayTry(lane);
    },

    begin(lane: PacedLane): void {
      lane.open += 1;
      open += 1;
    },

    end(lane: PacedLane, endpoint: PacedEndpoint, ms: number): void {
      lane.open -= 1;
      open -= 1;
      for (const { pace } of [lane, endpoint]) pace.allowed = ms > SLOW_MS ? 1 : pace.allowed + 1;
    },
  };
}

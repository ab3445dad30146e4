import type { createPlaces, Line, Place } from "../../../../shared/worker/places.ts";
import type { ClaimedEndpoint, Delivery } from "./database.ts";

/** `open`: the requests by delivery. */
export type Endpoint = {
  id: string;
  maxOpen: number;
  queue: Delivery[];
  open: Map<string, Place>;
  host: string;
  line: Line;
};

/** An owner's deliveries. Nothing is started after startUntil. */
export type Lane = { id: string; token: string; startUntil: number; endpoints: Map<string, Endpoint> };

/** A request to send, counted as open. */
export type Send = { lane: Lane; endpoint: Endpoint; delivery: Delivery };

export const isOpen = (lane: Lane) => lane.endpoints.values().some(({ open }) => open.size > 0);

/** Whether one more request may begin. */
export const mayStart = ({ open, maxOpen, line }: Endpoint) => open.size < maxOpen && line.hasPlace();

/** The lanes that a process leases, with their waiting deliveries. Those that have waited longest come first. */
export function createLeasedLanes(places: ReturnType<typeof createPlaces>, now: () => number) {
  const lanes = new Map<string, Lane>();

  return {
    all: () => [...lanes.values()],
    count: () => lanes.size,
    endpoints: () => [...lanes.values()].flatMap(({ endpoints }) => [...endpoints.values()]),

    /** Deliveries to send now. The lanes take turns, and so do the endpoints of a lane. */
    start(): Send[] {
      const started: Send[] = [];
      for (const lane of lanes.values()) {
        if (now() >= lane.startUntil) continue;
        const endpoint = lane.endpoints.values().find((each) => each.queue.length > 0 && mayStart(each));
        const place = endpoint?.line.begin();
        const delivery = place && endpoint?.queue.shift();
        if (!endpoint || !delivery) continue;
        endpoint.open.set(delivery.id, place);
        started.push({ lane, endpoint, delivery });
        moveToEnd(lane.endpoints, endpoint);
        moveToEnd(lanes, lane); // where this loop comes to it again
      }
      return started;
    },

    end({ endpoint, delivery }: Send): void {
      endpoint.open.get(delivery.id)?.end();
      endpoint.open.delete(delivery.id);
    },

    /** Adds what a call has claimed. */
    add({ lane_id: id, token, endpoint_id, max_open, url, secrets, deliveries }: ClaimedEndpoint): void {
      const lane: Lane = lanes.get(id) ?? { id, token, startUntil: 0, endpoints: new Map() };
      const endpoint = lane.endpoints.get(endpoint_id) ?? newEndpoint(id, endpoint_id, max_open, url);
      endpoint.queue.push(...deliveries.map((delivery) => ({ ...delivery, endpoint_id, url, secrets })));
      lane.endpoints.set(endpoint_id, endpoint);
      lanes.set(id, lane);
    },

    /** Sends nothing more of it; what is open ends. Leaves one alone that was taken again meanwhile. */
    drop(lane: Lane): void {
      if (lanes.get(lane.id) === lane) lanes.delete(lane.id);
    },
    lose: (id: string): boolean => lanes.delete(id),

    keep(ids: string[], startUntil: number): void {
      for (const id of ids) {
        const lane = lanes.get(id);
        if (lane) lane.startUntil = startUntil;
      }
    },
  };

  function newEndpoint(owner: string, id: string, maxOpen: number, url: string): Endpoint {
    const host = hostOf(url);
    return { id, maxOpen, queue: [], open: new Map(), host, line: places.of({ owner, target: id, shared: host }) };
  }
}

/** An administrator may have written a URL that cannot be read: it is not sent to. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : "";
}

function moveToEnd<T extends { id: string }>(map: Map<string, T>, item: T): void {
  map.delete(item.id);
  map.set(item.id, item);
}

import type { Delivery, LeasedEndpoint } from "./database.ts";

type Endpoint = { maxOpen: number; open: number; waiting: Waiting[] };
/** A delivery that waits for an earlier request to its endpoint. It must start well before its lease ends. */
type Waiting = { delivery: Delivery; beginUntil: number };

/** The deliveries that a worker has leased and not sent. The database leases no more of an endpoint than may soon be open. */
export function createLeased(now: () => number) {
  const endpoints = new Map<string, Endpoint>();
  const returned: number[] = [];

  function giveBack(waiting: Waiting[]): void {
    returned.push(...waiting.map(({ delivery }) => delivery.work_id));
  }

  return {
    /** `isHere`: whether this worker already has the delivery. After a crash the database may have forgotten the lease and given it again. */
    add(
      { endpoint_id, url, secrets, max_open, deliveries }: LeasedEndpoint,
      beginUntil: number,
      isHere: (id: string) => boolean,
    ): void {
      const endpoint = endpoints.get(endpoint_id) ?? { maxOpen: max_open, open: 0, waiting: [] };
      endpoint.maxOpen = max_open;
      const isNew = ({ id }: { id: string }) =>
        !isHere(id) && !endpoint.waiting.some(({ delivery }) => delivery.id === id);
      const added = deliveries.filter(isNew).map((each) => ({ ...each, endpoint_id, url, secrets }));
      endpoint.waiting.push(...added.map((delivery) => ({ delivery, beginUntil })));
      endpoints.set(endpoint_id, endpoint);
    },

    /** The deliveries to send now: for each endpoint, as many as it may have open. Gives back those that waited too long. */
    begin(): Delivery[] {
      const begun: Delivery[] = [];
      for (const [id, endpoint] of endpoints) {
        const late = endpoint.waiting.filter(({ beginUntil }) => beginUntil <= now());
        endpoint.waiting = endpoint.waiting.filter((each) => !late.includes(each));
        giveBack(late);
        const next = endpoint.waiting.splice(0, Math.max(0, endpoint.maxOpen - endpoint.open));
        endpoint.open += next.length;
        begun.push(...next.map(({ delivery }) => delivery));
        if (endpoint.open === 0 && endpoint.waiting.length === 0) endpoints.delete(id);
      }
      return begun;
    },

    /** After a failure, gives back the endpoint's other deliveries, because recording the failure may disable it. */
    end({ endpoint_id }: Delivery, hasFailed: boolean): void {
      const endpoint = endpoints.get(endpoint_id);
      if (endpoint === undefined) return;
      endpoint.open -= 1;
      if (hasFailed) giveBack(endpoint.waiting.splice(0));
      if (endpoint.open === 0 && endpoint.waiting.length === 0) endpoints.delete(endpoint_id);
    },

    /** Gives back all deliveries that have not started, when the worker stops. */
    giveAllBack(): void {
      for (const endpoint of endpoints.values()) giveBack(endpoint.waiting.splice(0));
    },
    /** The work to give back with the next call. If that call fails, returnAgain puts it back. */
    drainReturned: (): number[] => returned.splice(0),
    returnAgain: (work: number[]): void => void returned.push(...work),
  };
}

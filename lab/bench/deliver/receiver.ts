import { waitUntil } from "../measure.ts";
import { verifySignature } from "../../../shared/webhooks/verify-signature.ts";

/** One request in so many is kept, to check its signature after the measurement. */
const SAMPLE_EVERY = 97;
const TIMEOUT_MS = 120_000;
const BODY_BYTES = [900, 1_200] as const;

/** The time in ms since 1970, with fractions. */
export const wallClock = (): number => performance.timeOrigin + performance.now();

/** Answers 204 to every event, and knows when each first came. An endpoint that is held answers 503, once it is released. */
export function openReceiver() {
  /** Each event's id and when it first came, in ms since 1970. */
  let arrivals = new Map<string, number>();
  let [requests, answered, bytes] = [0, 0, 0];
  let held: { endpoint: number; released: Promise<void> } | null = null;
  let samples: { endpoint: number; headers: Headers; body: string }[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, async (request) => {
    const body = await request.arrayBuffer();
    const id = request.headers.get("webhook-id") ?? "";
    if (!arrivals.has(id)) arrivals.set(id, wallClock());
    bytes += body.byteLength;
    const endpoint = Number(request.url.slice(request.url.lastIndexOf("/") + 1));
    if (requests++ % SAMPLE_EVERY === 0)
      samples.push({ endpoint, headers: request.headers, body: new TextDecoder().decode(body) });
    const isHeld = held?.endpoint === endpoint;
    if (isHeld) await held?.released;
    else answered++;
    return new Response(null, { status: isHeld ? 503 : 204 });
  });
  return {
    url: (endpoint: number | "") => `http://127.0.0.1:${server.addr.port}/e/${endpoint}`,
    begin: () => {
      arrivals = new Map();
      [requests, answered, bytes, samples] = [0, 0, 0, []];
    },
    /** Requests since then, and those of them that were answered 204. */
    requests: () => requests,
    answered: () => answered,
    /** Leaves an endpoint's requests unanswered until the returned function is called. */
    hold(endpoint: number): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = { endpoint, released: promise };
      return () => {
        held = null;
        resolve();
      };
    },
    /** Waits until so many events have come. Returns when the last of them first came. */
    async waitFor(events: number): Promise<number> {
      const have = async () => arrivals.size >= events;
      await waitUntil(have, { what: `${events} events come`, everyMs: events === 1 ? 1 : 5, timeoutMs: TIMEOUT_MS });
      return [...arrivals.values()].at(-1) ?? Number.NaN;
    },
    /** Throws unless each event came once, signed and of the right length. */
    async check(events: number, secrets: string[]): Promise<void> {
      if (arrivals.size !== events || requests !== events)
        throw new Error(`${arrivals.size} of ${events} events came, with ${requests} requests.`);
      const mean = bytes / requests;
      if (mean < BODY_BYTES[0] || mean > BODY_BYTES[1]) throw new Error(`The bodies had ${mean} bytes.`);
      for (const { endpoint, headers, body } of samples)
        if (!(await verifySignature(secrets[endpoint] ?? "", headers, body))) throw new Error("A signature was wrong.");
    },
    close: () => server.shutdown(),
  };
}
export type Receiver = ReturnType<typeof openReceiver>;

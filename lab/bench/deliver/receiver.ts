import { waitUntil } from "../measure.ts";
import { verify } from "../../../shared/webhooks/signed-handler.ts";

/** One request in so many is kept, to check its signature after the measurement. */
const SAMPLE_EVERY = 97;
const TIMEOUT_MS = 120_000;
const BODY_BYTES = [900, 1_200] as const;

/** The time in ms since 1970, with fractions. */
export const wallClock = (): number => performance.timeOrigin + performance.now();

/** Answers 204 to every event, and knows when each first came. */
export function openReceiver() {
  /** Each event's id and when it first came, in ms since 1970. */
  let arrivals = new Map<string, number>();
  let [requests, bytes] = [0, 0];
  let samples: { endpoint: number; headers: Headers; body: string }[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, async (request) => {
    const body = await request.arrayBuffer();
    const id = request.headers.get("webhook-id") ?? "";
    if (!arrivals.has(id)) arrivals.set(id, wallClock());
    bytes += body.byteLength;
    const endpoint = Number(request.url.slice(request.url.lastIndexOf("/") + 1));
    if (requests++ % SAMPLE_EVERY === 0)
      samples.push({ endpoint, headers: request.headers, body: new TextDecoder().decode(body) });
    return new Response(null, { status: 204 });
  });
  return {
    url: (endpoint: number | "") => `http://127.0.0.1:${server.addr.port}/e/${endpoint}`,
    begin: () => {
      arrivals = new Map();
      [requests, bytes, samples] = [0, 0, []];
    },
    /** Waits until so many events have come. Returns when the last of them first came. */
    async waitFor(events: number): Promise<number> {
      const have = async () => arrivals.size >= events;
      await waitUntil(have, { what: `${events} events come`, everyMs: events === 1 ? 1 : 5, timeoutMs: TIMEOUT_MS });
      return [...arrivals.values()].at(-1) ?? Number.NaN;
    },
    /** Throws unless each event came once, signed and of the right length. */
    check(events: number, secrets: string[]): void {
      if (arrivals.size !== events || requests !== events)
        throw new Error(`${arrivals.size} of ${events} events came, with ${requests} requests.`);
      const mean = bytes / requests;
      if (mean < BODY_BYTES[0] || mean > BODY_BYTES[1]) throw new Error(`The bodies had ${mean} bytes.`);
      for (const { endpoint, headers, body } of samples)
        if (!verify(secrets[endpoint] ?? "", headers, body)) throw new Error("A signature was wrong.");
    },
    close: () => server.shutdown(),
  };
}
export type Receiver = ReturnType<typeof openReceiver>;

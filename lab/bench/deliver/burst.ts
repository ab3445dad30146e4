import { waitUntil } from "../measure.ts";
import { verify } from "../../../shared/webhooks/signed-handler.ts";
import type { Report } from "./receiver.ts";
import type { Scene } from "./scene.ts";
import { wallClock, type Way } from "./ways.ts";

const TIMEOUT_MS = 120_000;
const BODY_BYTES = [900, 1_200] as const;

type Load = {
  events: number;
  endpoints: number[];
  /** Endpoints among them that never answer. */
  hanging?: number[];
};

type Burst = {
  /** From COMMIT to the last recorded outcome, in ms. Endpoints that hang are recorded later. */
  took: number;
  /** From COMMIT to the receipt of each event at an endpoint that answers, in ms. */
  delays: number[];
};

/**
 * Commits events at once and waits until all are received and every outcome is recorded. Throws unless each came once
 * to an endpoint that answers, signed and of the right length. Hanging requests are answered at the end, so that the
 * next burst starts clean.
 */
export async function runBurst({ receiver, secrets }: Scene, way: Way, load: Load): Promise<Burst> {
  const { events, endpoints, hanging = [] } = load;
  const healthy = (events * (endpoints.length - hanging.length)) / endpoints.length;
  await receiver.begin(hanging);
  const committed = await way.commit(events, endpoints);
  await receiver.waitFor(healthy, TIMEOUT_MS);
  if (hanging.length === 0) await untilRecorded(way);
  const took = wallClock() - committed;
  const report = await receiver.report();
  check(report, healthy, secrets);
  if (hanging.length > 0) {
    if (report.hung === 0) throw new Error(`${way.name}: nothing came to the endpoints that hang.`);
    await receiver.release();
    await untilRecorded(way);
  }
  return { took, delays: report.arrivals.map(([, at]) => at - committed) };
}

/** Polls only after all events are received, so that polling does not slow them down. */
async function untilRecorded(way: Way): Promise<void> {
  await waitUntil(async () => !(await way.isOpen()), { what: `${way.name} records outcomes`, everyMs: 5 });
}

function check({ arrivals, requests, bytes, samples }: Report, events: number, secrets: string[]): void {
  if (arrivals.length !== events || requests !== events)
    throw new Error(`${arrivals.length} of ${events} events came, with ${requests} requests.`);
  const mean = bytes / requests;
  if (mean < BODY_BYTES[0] || mean > BODY_BYTES[1]) throw new Error(`The bodies had ${mean} bytes.`);
  for (const { endpoint, headers, body } of samples)
    if (!verify(secrets[endpoint] ?? "", new Headers(headers), body)) throw new Error("A signature was wrong.");
}

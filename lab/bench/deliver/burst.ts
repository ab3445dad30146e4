import { verify } from "../../../shared/webhooks/signature.ts";
import type { Report } from "./receiver/report.ts";
import type { Scene } from "./scene.ts";
import { type Way, wallClock } from "./way.ts";

const LOOK_EVERY_MS = 5;
const PATIENCE_MS = 120_000;
const BODY_BYTES = [900, 1_200] as const;

export type Load = {
  events: number;
  endpoints: number[];
  /** Those among them that never answer. */
  hanging?: number[];
};

export type Burst = {
  /** From COMMIT to the last recorded outcome, in ms; of no meaning where endpoints hang. */
  took: number;
  /** From COMMIT to when each event was received at an endpoint that answers, in ms. */
  delays: number[];
};

/**
 * Commits events at once and waits until all have been received and every outcome is recorded. It checks that each came
 * once to an endpoint that answers, as long as it should be, and signed. Throws otherwise. What hangs is answered in the end,
 * so that the next burst begins with nothing.
 */
export async function runBurst({ receiver, secrets }: Scene, way: Way, load: Load): Promise<Burst> {
  const { events, endpoints, hanging = [] } = load;
  const healthy = (events * (endpoints.length - hanging.length)) / endpoints.length;
  await receiver.begin(hanging);
  const committed = await way.commit(events, endpoints);
  await receiver.waitFor(healthy, PATIENCE_MS);
  if (hanging.length === 0) await untilRecorded(way);
  const took = wallClock() - committed;
  const report = await receiver.report();
  check(report, healthy, secrets);
  if (hanging.length > 0) {
    if (report.hung === 0) throw new Error(`${way.name}: nothing came to the endpoints that hang.`);
    await receiver.release();
    await untilRecorded(way);
  }
  return { took, delays: report.arrivals.map((at) => at - committed) };
}

/** Polls by the clock of this process, where the others are asked nothing until all has been received. */
async function untilRecorded(way: Way): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (await way.isOpen()) {
    if (performance.now() > end) throw new Error(`${way.name}: outcomes were not recorded after ${PATIENCE_MS} ms.`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

function check({ arrivals, requests, bytes, samples }: Report, events: number, secrets: string[]): void {
  if (arrivals.length !== events || requests !== events)
    throw new Error(`${arrivals.length} of ${events} events came, with ${requests} requests.`);
  const mean = bytes / requests;
  if (mean < BODY_BYTES[0] || mean > BODY_BYTES[1]) throw new Error(`The bodies had ${mean} bytes.`);
  for (const { endpoint, headers, body } of samples)
    if (!verify(secrets[endpoint] ?? "", new Headers(headers), body)) throw new Error("A signature was wrong.");
}

import type { KeyframeClient } from "../../client/index.ts";
import { serveAnswer } from "./serve-answer.ts";

const TESTS = 26;
const LOOK_EVERY_MS = 100;
const PATIENCE_MS = 30_000;

/** Endpoints as a team has them: one that works, one that fails, one for a single event. */
export type Endpoints = { webhookId: string; stop: () => Promise<void> };

/** Registers the endpoints; the films that are made next are delivered to them. Returns the one whose page is shown. */
export async function makeWebhooks(keyframe: KeyframeClient): Promise<Endpoints> {
  const well = serveAnswer(() => new Response("ok"));
  const tired = serveAnswer((turn) => (turn % 3 === 0 ? new Response("ok") : new Response("busy", { status: 503 })));
  await keyframe.webhooks.create({
    url: `${well.url}/crm`,
    description: "CRM",
    eventTypes: ["project.created"],
  });
  await keyframe.webhooks.create({ url: `${tired.url}/review`, description: "Review tool" });
  const shown = await keyframe.webhooks.create({ url: `${well.url}/keyframe`, description: "Edit suite" });
  return {
    webhookId: shown.webhookId,
    stop: async () => void (await Promise.all([well.stop(), tired.stop()])),
  };
}

/** Sends so many test events that the chart has something to show, and waits for their answers. */
export async function sendTests(keyframe: KeyframeClient, webhookId: string): Promise<void> {
  for (let sent = 0; sent < TESTS; sent++) await keyframe.webhooks.test(webhookId);
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    const { deliveries } = await keyframe.webhooks.deliveries(webhookId, { status: "pending" });
    if (deliveries.length === 0) return;
    if (performance.now() > end) throw new Error("The test events were not delivered in time.");
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

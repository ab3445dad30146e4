import type { KeyframeClient } from "../../client/index.ts";
import { type ReceivedEvent, startReceiver } from "../receiver/start-receiver.ts";
import { pause } from "../../shared/platform/retry.ts";

const TIMEOUT_MS = 20_000;
const FAREWELL_MS = 5_000;

/** A receiver on this machine with a registered endpoint; it accepts only what is signed with the endpoint's secret. */
export type EventReceiver = {
  /** Resolves with the events of a project when they are of these types; throws when they do not arrive, or are not of the film. */
  eventsOf(projectId: string, expected: readonly string[], filmId?: string): Promise<ReceivedEvent[]>;
  stop(): Promise<void>;
};

/** Starts a receiver and registers it as a webhook endpoint of the caller. */
export async function registerReceiver(keyframe: KeyframeClient, signal: AbortSignal): Promise<EventReceiver> {
  const receiver = startReceiver({ port: 0, secrets: [] });
  const endpoint = { url: receiver.url, description: "npm run demo" };
  const { webhookId, secret } = await keyframe.webhooks.create(endpoint, { signal }).catch(async (error) => {
    await receiver.stop();
    throw error;
  });
  receiver.setSecrets([secret]);
  return {
    async eventsOf(projectId, expected, filmId) {
      const isWhole = (events: ReceivedEvent[]) =>
        events
          .map(({ event }) => event.type)
          .sort()
          .join() === [...expected].sort().join();
      const ofProject = () =>
        receiver.events.filter(
          ({ event, duplicate }) => !duplicate && "projectId" in event.data && event.data.projectId === projectId,
        );
      const end = performance.now() + TIMEOUT_MS;
      while (!isWhole(ofProject()) && performance.now() < end) {
        signal.throwIfAborted();
        await pause(50);
      }
      const arrived = ofProject();
      if (!isWhole(arrived)) {
        throw new Error(
          `Expected the events ${expected.join(", ")}, but only these arrived: ${arrived.map(({ event }) => event.type).join(", ") || "none"}.`,
        );
      }
      const foreign = arrived.find(({ event }) => "projectId" in event.data && event.data.filmId !== filmId);
      if (foreign) throw new Error(`The event ${foreign.event.type} does not have the film ${filmId}.`);
      return arrived;
    },
    async stop() {
      // The endpoint is deleted even if the demo was cut short, because it would point at nothing.
      const brief = AbortSignal.timeout(FAREWELL_MS);
      await keyframe.webhooks.delete(webhookId, { signal: brief }).catch(() => undefined);
      await receiver.stop();
    },
  };
}

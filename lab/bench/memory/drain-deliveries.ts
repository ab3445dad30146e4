import { keyframeWay } from "../deliver/keyframe-way.ts";
import { ENDPOINTS, openScene } from "../deliver/scene.ts";

const LOOK_EVERY_MS = 200;
const PATIENCE_MS = 15 * 60_000;

export type DrainLoad = {
  /** Commits so many events of 1 KB over twenty endpoints and waits until each has been received and recorded. */
  drain(events: number): Promise<void>;
  close(): Promise<void>;
};

/** Deliveries of the stack's own deliver, to a receiver in a process of its own. */
export async function openDrainLoad(databaseUrl: string): Promise<DrainLoad> {
  const scene = await openScene(databaseUrl);
  const way = keyframeWay(scene);
  return {
    drain: async (events) => {
      await scene.receiver.begin([]);
      await way.commit(events, ENDPOINTS);
      const end = performance.now() + PATIENCE_MS;
      while (await way.isOpen()) {
        if (performance.now() > end) throw new Error(`Deliveries are pending after ${PATIENCE_MS / 60_000} minutes.`);
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      }
      const { arrivals } = await scene.receiver.report();
      if (arrivals.length !== events) throw new Error(`${arrivals.length} of ${events} events came.`);
    },
    close: async () => {
      await way.close();
      await scene.close();
    },
  };
}

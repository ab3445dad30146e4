import { sign } from "../../../shared/webhooks/signature.ts";
import type { Shot } from "./peers/fetch-loop.ts";
import { recordHappenings } from "./record-happenings.ts";
import type { Scene } from "./scene.ts";
import { startProcess } from "./start-process.ts";
import type { Way } from "./way.ts";

/** No queue: a process that posts what is in its memory, signed beforehand, and forgets it. The limit of the others. */
export async function fetchLoopWay({ sql, receiver, secrets }: Scene): Promise<Way> {
  const { port, close } = await startProcess(new URL("peers/fetch-loop.ts", import.meta.url));
  const url = `http://127.0.0.1:${port}/`;
  return {
    name: "bare fetch loop",
    commit: async (events, endpoints) => {
      const happenings = await recordHappenings(sql, events, endpoints);
      const shots = happenings.map(({ id, endpoint, body }): Shot => {
        const signed = sign(secrets[endpoint] ?? "", id, new Date(), body);
        return { url: receiver.url(endpoint), headers: { ...signed, "content-type": "application/json" }, body };
      });
      await (await fetch(url, { method: "PUT", body: JSON.stringify(shots) })).body?.cancel();
      const response = await fetch(url, { method: "POST" });
      if (!response.ok) throw new Error(`The fetch loop answered ${response.status}.`);
      const { began }: { began: number } = await response.json();
      return began;
    },
    isOpen: async () => false,
    close,
  };
}

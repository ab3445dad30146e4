import type { BenchStack } from "../bench-stack.ts";
import { quantile } from "../measure/quantile.ts";
import { sign } from "../../../shared/webhooks/signature.ts";
import type { Unfinished } from "./attacker.ts";

const MIB = 1024 * 1024;

/** An attack on one function, straight at where it listens, and what an innocent sender asks of it meanwhile. */
export type Attack = {
  name: "keyframe-replicate-webhook" | "api";
  what: string;
  unfinished: Unfinished;
  /** One request of somebody else, and whether it was answered as it should be. */
  ask(): Promise<boolean>;
};

export function unfinishedBodies({ caller, functionUrls, keys }: BenchStack): Attack[] {
  const webhook = `${functionUrls["keyframe-replicate-webhook"]}/replicate-webhook`;
  const session = { authorization: `Bearer ${caller.token}` };
  return [
    {
      name: "keyframe-replicate-webhook",
      what: "400 unsigned callbacks of 1 MiB that stop before the end",
      unfinished: { url: webhook, headers: {}, announced: MIB, sent: MIB - 1, connections: 400 },
      ask: async () => {
        const body = JSON.stringify({ id: "run", status: "processing", output: null, error: null, logs: "" });
        const query = new URLSearchParams({ prediction: crypto.randomUUID(), attempt: "1" });
        const signed = sign(keys.replicateWebhookSecret, `msg_${crypto.randomUUID()}`, new Date(), body);
        return (await statusOf(`${webhook}?${query}`, { method: "POST", headers: signed, body })) === 404; // nobody's
      },
    },
    {
      name: "api",
      what: "100 uploads of 10 MiB by one account that stop before the end",
      unfinished: {
        url: `${functionUrls.api}/api/projects/reference-images`,
        headers: { ...session, "content-type": "image/png" },
        announced: 10 * MIB,
        sent: 10 * MIB - 100_000,
        connections: 100,
      },
      ask: async () =>
        (await statusOf(`${functionUrls.api}/api/projects`, {
          method: "POST",
          headers: { ...session, "content-type": "application/json" },
          body: JSON.stringify({ title: "Innocent", textPrompt: "A harbour at dawn" }),
        })) === 201,
    },
  ];
}

async function statusOf(url: string, init: RequestInit): Promise<number> {
  const response = await fetch(url, init);
  await response.body?.cancel();
  return response.status;
}

/** The median of the time that `ask` takes, in ms, one request after the other. Throws when one is not answered as it should be. */
export async function medianOf(ask: () => Promise<boolean>, isOver: (asked: number) => boolean): Promise<number> {
  const times: number[] = [];
  do {
    const began = performance.now();
    if (!(await ask())) throw new Error("An innocent request was not answered.");
    times.push(performance.now() - began);
  } while (!isOver(times.length));
  return quantile(times, 0.5);
}

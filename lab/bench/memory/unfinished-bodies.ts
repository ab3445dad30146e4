import { sign } from "../../../shared/webhooks/signature.ts";
import { quantile } from "../measure.ts";
import type { BenchStack } from "../stack.ts";
import { openUnfinished } from "./open-unfinished.ts";

/** Equal requests that announce more bytes than they send. */
type Unfinished = {
  url: string;
  headers: Record<string, string>;
  announced: number;
  sent: number;
  connections: number;
};

/** Opens them from a worker thread, so that this does not slow down the measurement. */
export function startAttacker(unfinished: Unfinished): { opened: Promise<void>; end(): void } {
  const worker = new Worker(import.meta.url, { type: "module", name: "attacker" });
  const opened = new Promise<void>((resolve, reject) => {
    worker.onmessage = () => resolve();
    worker.onerror = (event) => reject(new Error(event.message));
  });
  worker.postMessage(unfinished);
  return { opened, end: () => worker.terminate() };
}

// The part of a worker's global scope that is used here.
const scope = globalThis as unknown as { name?: string; onmessage: unknown; postMessage(message: string): void };
if (scope.name === "attacker") {
  scope.onmessage = async ({ data }: MessageEvent<Unfinished>) => {
    const bytes = new Uint8Array(data.sent);
    for (let at = 0; at < data.connections; at++) await openUnfinished(data.url, data.headers, data.announced, bytes);
    scope.postMessage("opened");
  };
}

const MIB = 1024 * 1024;

/** An attack on one function at its own port, and an ordinary request meanwhile. */
export type Attack = {
  name: "keyframe-replicate-webhook" | "api";
  what: string;
  unfinished: Unfinished;
  /** One ordinary request; whether it was answered as expected. */
  ask(): Promise<boolean>;
};

export function unfinishedBodies({ caller, functionUrls, keys }: BenchStack): Attack[] {
  const name = "keyframe-replicate-webhook";
  const webhook = `${functionUrls[name]}/${name}`;
  const session = { authorization: `Bearer ${caller.token}` };
  return [
    {
      name,
      what: "400 unsigned callbacks of 1 MiB that stop before the end",
      unfinished: { url: webhook, headers: {}, announced: MIB, sent: MIB - 1, connections: 400 },
      ask: async () => {
        const body = JSON.stringify({ id: "run", status: "processing", output: null, error: null, logs: "" });
        const query = new URLSearchParams({ prediction: crypto.randomUUID(), attempt: "1" });
        const signed = sign(keys.replicateWebhookSecret, `msg_${crypto.randomUUID()}`, new Date(), body);
        return (await statusOf(`${webhook}?${query}`, { method: "POST", headers: signed, body })) === 404; // no such prediction
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

/** The median time of sequential requests, in ms. Throws at an unexpected answer. */
export async function medianOf(ask: () => Promise<boolean>, isOver: (asked: number) => boolean): Promise<number> {
  const times: number[] = [];
  do {
    const began = performance.now();
    if (!(await ask())) throw new Error("An innocent request was not answered.");
    times.push(performance.now() - began);
  } while (!isOver(times.length));
  return quantile(times, 0.5);
}

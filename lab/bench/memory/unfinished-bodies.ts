import { sign } from "../../../shared/webhooks/signature.ts";
import { quantile } from "../measure.ts";
import { answerJobs, startJobProcess } from "../processes.ts";
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

/** Holds them open in a process of its own, so that this does not slow down the measurement. */
export async function openUnfinishedBodies(unfinished: Unfinished): Promise<{ close(): Promise<void> }> {
  const sender = startJobProcess(new URL(import.meta.url));
  await sender.run(unfinished);
  return sender;
}

async function open({ url, headers, announced, sent, connections }: Unfinished): Promise<void> {
  const bytes = new Uint8Array(sent);
  for (let at = 0; at < connections; at++) await openUnfinished(url, headers, announced, bytes);
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

/** p50 of so many requests in a row, in ms. Throws at an unexpected answer. */
export async function medianOf(ask: () => Promise<boolean>, count: number): Promise<number> {
  const times: number[] = [];
  for (let asked = 0; asked < count; asked++) {
    const began = performance.now();
    if (!(await ask())) throw new Error("An innocent request was not answered.");
    times.push(performance.now() - began);
  }
  return quantile(times, 0.5);
}

if (import.meta.main) await answerJobs(open);

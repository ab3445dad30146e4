import { eventHeaders } from "../../supabase/functions/keyframe-deliver/send/event-headers.ts";

export const SECRET = `whsec_${"c2VjcmV0".repeat(4)}`;
export const OTHER_SECRET = `whsec_${"b3RoZXIt".repeat(4)}`;

const guide = await Deno.readTextFile(new URL("../../docs/receive-webhooks.md", import.meta.url));

/** The JSON blocks of docs/receive-webhooks.md, in order. */
export const documentedBodies = [...guide.matchAll(/^```json\n(.*?)^```$/gms)].map(([, body]) => body ?? "");

/** A project.created as Postgres would send it, with characters that a wrong encoding would change. */
export const BODY = JSON.stringify({
  type: "project.created",
  timestamp: "2026-03-01T09:30:00.125Z",
  data: {
    projectId: "5f0c7a52-6f4e-4a39-9c55-1a6f0f8f2a10",
    ownerId: "b7d6f0de-3c43-4a55-8f2e-0c9f5a1f7e21",
    title: "Häfen 🎬",
    textPrompt: "A harbour at dawn",
    description: "",
    createdAt: "2026-03-01T09:30:00.125Z",
  },
});

export type Delivery = {
  secrets?: string[];
  id?: string;
  at?: Date;
  body?: string;
  sentBody?: string;
  drop?: string;
  signal?: AbortSignal;
};

/** Sends a body as `deliver` does: signed with each live secret. `sentBody` and `drop` spoil it. */
export function deliver(url: string, delivery: Delivery = {}): Promise<Response> {
  const { secrets = [SECRET], id = crypto.randomUUID(), at = new Date(), body = BODY, drop } = delivery;
  const headers = new Headers(eventHeaders(secrets, id, at, body));
  if (drop) headers.delete(drop);
  return fetch(url, { method: "POST", headers, body: delivery.sentBody ?? body, signal: delivery.signal ?? null });
}

/** The answer's status, its body read to the end. */
export async function status(answer: Promise<Response>): Promise<number> {
  const response = await answer;
  await response.body?.cancel();
  return response.status;
}

import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Webhook } from "standardwebhooks";
import { CrmUnavailable } from "./crm.ts";
import { readEvent } from "./read-event.ts";
import type { Sync } from "./sync.ts";

/** An event has at most 20 kB. */
const MAX_BYTES = 64 * 1024;
/** Keyframe waits 15 s for the answer. An event that is not saved by then is sent again. */
const TIMEOUT_MS = 12_000;

type Settings = { webhooks: readonly Webhook[]; sync: Sync; log(line: string): void; timeoutMs?: number };
type Answer = { status: number; says?: string; headers?: Record<string, string> };

/**
 * Answers webhooks: 204 once the event is in the CRM for good, 503 when it could not be brought there, so that Keyframe sends
 * it again later; 4xx for what is no webhook of ours. There is no queue here that a crash could empty.
 */
export function createReceiver(
  settings: Settings,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    const { status, says, headers } = await receive(request, settings).catch((error: unknown): Answer => {
      const reason = error instanceof Error ? error.message : String(error);
      settings.log(`not saved, it will come again: ${reason.replace(/\s+/g, " ")}`);
      const seconds = error instanceof CrmUnavailable ? error.retryAfterSeconds : null;
      return { status: 503, ...(seconds === null ? {} : { headers: { "retry-after": String(seconds) } }) };
    });
    response.writeHead(status, headers).end(says);
  };
}

async function receive(request: IncomingMessage, { webhooks, sync, log, timeoutMs }: Settings): Promise<Answer> {
  if (request.method !== "POST") return { status: 405, headers: { allow: "POST" } };
  const body = await readBody(request);
  if (body === null) return { status: 413, headers: { connection: "close" } };
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  // The signature covers these very bytes: parsing comes after it.
  if (!webhooks.some((webhook) => isSigned(webhook, body, headers)))
    return { status: 401, says: "Not signed by us.\n" };
  const id = headers["webhook-id"] ?? "";
  const change = readEvent(JSON.parse(body));
  if (change === null) return { status: 204 };
  const outcome = await sync(id, change, AbortSignal.timeout(timeoutMs ?? TIMEOUT_MS));
  log(`${outcome}: ${change.part} of project ${change.projectId} at ${change.at}, webhook-id ${id}`);
  return { status: 204 };
}

async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Signature and age. */
function isSigned(webhook: Webhook, body: string, headers: Record<string, string>): boolean {
  try {
    webhook.verify(body, headers, { jsonParse: false });
    return true;
  } catch {
    return false;
  }
}

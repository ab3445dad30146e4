import type { Webhook } from "standardwebhooks";
import { type WebhookEvent, webhookEvent } from "../../shared/contract/events.ts";
import { ApiError } from "../../shared/http/errors.ts";
import { bodyClock, createBodyReader, decodeBody } from "../../shared/http/read-body.ts";
import { jsonText } from "../../shared/platform/environment.ts";

/** Three times the limit of an event. */
const LIMITS = { maxBytes: 64 * 1024, maxMs: 15_000 };

const readBody = createBodyReader({ ...bodyClock, maxTotalBytes: 16 * 1024 * 1024 });

/** A request that is not an event: the status to answer, and why. */
export class Refused extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** A verified request: the event, its identifier, and headers and body as received. */
export type SignedEvent = { id: string; event: WebhookEvent; headers: Record<string, string>; body: string };

/** Reads a webhook as a receiver should: method, size, raw body, signature and age, and then JSON. Throws Refused. */
export async function readEvent(request: Request, webhooks: readonly Webhook[]): Promise<SignedEvent> {
  if (request.method !== "POST") throw new Refused(405, "Events come with POST.");
  const body = await readRawBody(request);
  const headers = Object.fromEntries(request.headers);
  checkSignature(webhooks, headers, body);
  const parsed = jsonText.pipe(webhookEvent).safeParse(body);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Refused(400, `Signed, but not an event: ${issue?.path.join(".") || "body"}: ${issue?.message}`);
  }
  return { id: headers["webhook-id"] ?? "", event: parsed.data, headers, body };
}

async function readRawBody(request: Request): Promise<string> {
  try {
    return decodeBody(await readBody(request, LIMITS));
  } catch (error) {
    if (error instanceof ApiError) throw new Refused(error.status, error.message);
    throw error;
  }
}

/**
 * One matching secret is enough: during a rotation the sender signs with each live secret, and a receiver may hold
 * several.
 */
function checkSignature(webhooks: readonly Webhook[], headers: Record<string, string>, body: string): void {
  let reason = "This receiver has no secret.";
  for (const webhook of webhooks) {
    try {
      webhook.verify(body, headers, { jsonParse: false });
      return;
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error);
    }
  }
  throw new Refused(401, reason);
}

import { rotateSecretBody, webhookSecretAnswer } from "../../../shared/contract/webhooks.ts";
import type { Needs, UserCall } from "./call.ts";
import { readIdempotency } from "./idempotency.ts";
import { readOptionalJson } from "./optional-json.ts";
import { noQuery, readQuery } from "./request-query.ts";
import type { Answer } from "./respond.ts";

/** GET /api/webhooks/:id/secret → 200 { secret }: the one that signs now. */
export async function revealSecret({ id, url, session }: UserCall, { database }: Needs): Promise<Answer> {
  readQuery(url, noQuery);
  const data = await database("reveal_webhook_secret", { endpoint_id: id }, session.token, webhookSecretAnswer);
  return { status: 200, data };
}

/**
 * POST /api/webhooks/:id/secret/rotate → 200 { secret }: the new one, which signs at once. An Idempotency-Key is checked
 * but not kept: each request rotates.
 */
export async function rotateSecret(call: UserCall, { database }: Needs): Promise<Answer> {
  const { id, request, url, session } = call;
  readQuery(url, noQuery);
  const body = await readOptionalJson(request, rotateSecretBody);
  await readIdempotency(request, url.pathname, body);
  const args = { endpoint_id: id, overlap_hours: body.overlapHours };
  const data = await database("rotate_webhook_secret", args, session.token, webhookSecretAnswer);
  return { status: 200, data };
}

import { z } from "zod";
import { answered, answerHeaders } from "../http/answer-headers.ts";
import type { Handler } from "../call.ts";

const one = answered.extend({ secret: z.string() });

/** GET /api/webhooks/:webhookId/secret → 200 { secret }: the one that signs now. */
export const revealSecret: Handler<"revealSecret"> = async ({ path, token }, { database }) => {
  const answer = await database("reveal_webhook_secret", { endpoint_id: path("webhookId") }, token, one);
  return { data: { secret: answer.secret }, headers: answerHeaders(answer) };
};

/** POST /api/webhooks/:webhookId/secret/rotate → 200 { secret }: the new one, which signs at once. */
export const rotateSecret: Handler<"rotateSecret"> = async (call, { database }) => {
  const { path, body, idempotency, token } = call;
  const args = { endpoint_id: path("webhookId"), overlap_hours: body.overlapHours, ...idempotency };
  const answer = await database("rotate_webhook_secret", args, token, one);
  return { data: { secret: answer.secret }, headers: answerHeaders(answer) };
};

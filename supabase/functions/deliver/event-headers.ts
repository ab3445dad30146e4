import { sign } from "../../../shared/signature.ts";

const USER_AGENT = "Keyframe-Webhooks/1";

/**
 * The headers of one attempt. Each live secret signs, so a receiver that knows the old one or the new one can verify.
 * Throws when there is no secret or one cannot be read: nothing is sent unsigned.
 */
export function eventHeaders(secrets: string[], eventId: string, now: Date, body: string): Record<string, string> {
  const signed = secrets.map((secret) => sign(secret, eventId, now, body));
  if (signed[0] === undefined) throw new Error("The endpoint has no signing secret.");
  return {
    ...signed[0],
    "webhook-signature": signed.map((headers) => headers["webhook-signature"]).join(" "),
    "content-type": "application/json",
    "user-agent": USER_AGENT,
  };
}

import { Webhook } from "standardwebhooks";

/** The headers of a body that is signed with a `whsec_…` secret, as Standard Webhooks. `now` is the time of this attempt. */
export const sign = (secret: string, id: string, now: Date, body: string) => ({
  "webhook-id": id,
  "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
  "webhook-signature": new Webhook(secret).sign(id, now, body),
});

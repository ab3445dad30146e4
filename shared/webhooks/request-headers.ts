/**
 * The headers of one attempt without its signature: what deliver sends and the API shows. `at` is the start of the attempt. They have a file
 * of their own, because check-url.ts loads a package that the API does not need at its start.
 */
export const requestHeaders = (eventId: string, at: Date) => ({
  "webhook-id": eventId,
  "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
  "content-type": "application/json",
  "user-agent": "Keyframe-Webhooks/1",
});

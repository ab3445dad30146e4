import { WebhookVerificationError as StandardRefusal, Webhook as StandardWebhook } from "standardwebhooks";
import { WebhookVerificationError as SvixRefusal, Webhook as SvixWebhook } from "svix";
import { expect } from "vitest";
import { type WebhookEvent, webhookEvent } from "../../../shared/contract/events.ts";
import type { Arrival } from "./receiver.ts";

/** Whether a request is signed with this secret. Both public libraries have to agree, each over the raw body. */
export function isSignedWith(secret: string, { body, headers }: Arrival): boolean {
  const opinions = [StandardWebhook, SvixWebhook].map((Library) => {
    try {
      new Library(secret).verify(body, headers);
      return true;
    } catch (error) {
      if (!(error instanceof StandardRefusal || error instanceof SvixRefusal)) throw error;
      return false;
    }
  });
  expect(new Set(opinions).size, "standardwebhooks and svix must agree").toBe(1);
  return opinions[0] === true;
}

/** How many signatures a request carries: one for each live secret. */
export const signatures = ({ headers }: Arrival): string[] => (headers["webhook-signature"] ?? "").split(" ");

/** The event in a request, which must be signed with the secret and as the contract has it. */
export function readSigned(secret: string, arrival: Arrival): WebhookEvent {
  expect(isSignedWith(secret, arrival), `${arrival.body.slice(0, 100)} is signed`).toBe(true);
  expect(arrival.headers).toMatchObject({
    "content-type": "application/json",
    "user-agent": "Keyframe-Webhooks/1",
    "webhook-id": expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  expect(Math.abs(Number(arrival.headers["webhook-timestamp"]) * 1000 - arrival.at)).toBeLessThan(60_000);
  expect(new TextEncoder().encode(arrival.body).length).toBeLessThanOrEqual(20_000);
  return webhookEvent.parse(JSON.parse(arrival.body));
}

import { expect, inject } from "vitest";
import type { Envelope, EnvelopeError } from "../../../shared/http/errors.ts";

/** An answer of the API. That it is as openapi.json has it is checked of every answer (test/support/openapi/setup.ts). */
export type Reply = { status: number; headers: Headers; data: unknown; error: EnvelopeError | null };

/** Reads an answer. Fails the test if a secret of the stack is in it. */
export async function readReply(response: Response): Promise<Reply> {
  const { status, headers } = response;
  const text = await response.text();
  const { secretKey, kickSecret, replicateToken, replicateWebhookSecret, liteJwtSecret, signingKey } = inject("stack");
  for (const secret of [secretKey, kickSecret, replicateToken, replicateWebhookSecret, liteJwtSecret, signingKey.d]) {
    expect(text).not.toContain(secret);
  }
  const { data, error }: Envelope<unknown> = JSON.parse(text);
  return { status, headers, data, error };
}

/** The data of a call that has to succeed. */
export function dataOf(reply: Reply, status: number): unknown {
  if (reply.error || reply.status !== status) {
    throw new Error(`Expected ${status}, got ${reply.status}: ${JSON.stringify(reply.error ?? reply.data)}`);
  }
  return reply.data;
}

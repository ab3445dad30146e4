import { createdKey, createKeyBody, key, keyList, keyPath } from "../keys.ts";
import { SAMPLE } from "../samples.ts";
import type { Operation } from "./operation.ts";

const ofSession = { tag: "Keys", caller: "session" } as const;

export const keyOperations = {
  createKey: {
    ...ofSession,
    method: "POST",
    at: "/keys",
    summary: "Make a key",
    description:
      "Makes a key with which an agent or a script acts for you at this API and at `keyframe-mcp`, within what it may and its limit. The Data API, Storage and Realtime take sessions only. Only its hash is kept: a request repeated with the same `Idempotency-Key` makes no second key, it answers with a new secret of the first one, whose earlier secret ends.\n\n" +
      "You have at most 50 keys that have not ended. A key or an app (OAuth client) cannot make, list or revoke keys (`client_not_allowed`).",
    body: createKeyBody,
    status: 201,
    answer: createdKey,
    examples: [
      { summary: "For an agent", body: { name: "Claude Code", may: "generate", dayLimitMicros: 5_000_000 } },
      {
        summary: "To read, until a day",
        body: { name: "Reports", may: "read", expiresAt: "2036-11-21T12:00:00.000Z" },
      },
    ],
  },
  listKeys: {
    ...ofSession,
    method: "GET",
    at: "/keys",
    summary: "List your keys",
    description:
      "Newest first, also those that ended in the last 30 days. The keys themselves are not in it: only their hashes are kept.",
    status: 200,
    answer: keyList,
    examples: [{ summary: "All" }],
  },
  revokeKey: {
    ...ofSession,
    method: "DELETE",
    at: "/keys/:keyId",
    summary: "Revoke a key",
    description:
      "It ends at once: its next request is refused (`key_ended`). What it has started goes on, and URLs that it has read stay valid for up to an hour.",
    path: keyPath,
    status: 200,
    answer: key,
    errors: ["not_found"],
    examples: [{ summary: "One key", path: { keyId: SAMPLE.keyId } }],
  },
} as const satisfies Record<string, Operation>;

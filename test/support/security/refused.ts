import type postgres from "postgres";
import { expect } from "vitest";
import { callApi } from "../api/call.ts";
import { footprint } from "../api/database.ts";
import type { User } from "../api/user.ts";

/**
 * Sends requests of each kind with these headers: all are refused, and nothing of the victim's changes, not even the tokens of their rate
 * limits. A request that reached the database would have taken one.
 */
export async function expectRefusedEverywhere(
  sql: postgres.Sql,
  { victim, projectId }: { victim: User; projectId: string },
  headers: Record<string, string>,
  refusal: readonly [status: number, code: string] = [401, "unauthorized"],
): Promise<void> {
  const before = await footprint(sql, victim.id);
  const replies = await Promise.all([
    callApi("/api/projects", { headers }),
    callApi("/api/projects", { headers, json: { title: "Mine", textPrompt: "Mine" } }),
    callApi(`/api/projects/${projectId}`, { headers, method: "DELETE" }),
    callApi("/api/projects/reference-images", { headers: { ...headers, "content-type": "image/png" }, body: "x" }),
    callApi("/api/webhooks", { headers }),
  ]);
  expect(replies.map(({ status, error }) => [status, error?.code])).toEqual(replies.map(() => [...refusal]));
  expect(await footprint(sql, victim.id)).toEqual(before);
}

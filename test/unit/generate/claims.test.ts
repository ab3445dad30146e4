import { expect, test } from "vitest";
import { createClaim } from "../../../supabase/functions/keyframe-generate/tasks/claim.ts";

test("each claim of generate → has the process's id, room for at most ten tasks, and the previous answer's cursors", async () => {
  const asked: Record<string, unknown>[] = [];
  const claim = createClaim(
    async (_called, args) => {
      asked.push(args);
      return {
        tasks: [{ task: "poll", id: "b", more: 1 }],
        cursors: { ask: ["model", String(asked.length)] },
        more: true,
      };
    },
    null,
    "https://ref.supabase.co",
  );
  expect(await claim(64, 300, 0, 12.4)).toEqual({ items: [{ task: "poll", id: "b", more: 1 }], more: true });
  await claim(3, 300, 0, 0);
  expect(asked).toMatchObject([
    { max_rows: 10, cursors: {}, report: { callMs: 12, isProcess: true, address: "https://ref.supabase.co" } },
    { max_rows: 3, cursors: { ask: ["model", "1"] } },
  ]);
  expect(asked[0]?.worker_id).toBe(asked[1]?.worker_id);
});

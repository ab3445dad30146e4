import { expect, test } from "vitest";
import { createClaim } from "../../../supabase/functions/keyframe-generate/tasks/claim.ts";

const REQUEST = { isStopping: false, heartbeatMs: 300, waitMs: 0, callMs: 0 };

test("each claim of generate → has the process's id, free for at most ten tasks, none when it stops, and the last cursors", async () => {
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
  expect(await claim({ ...REQUEST, free: 64, callMs: 12.4 })).toEqual({
    items: [{ task: "poll", id: "b", more: 1 }],
    more: true,
  });
  await claim({ ...REQUEST, free: 3 });
  await claim({ ...REQUEST, free: 3, isStopping: true });
  expect(asked).toMatchObject([
    { max_rows: 10, cursors: {}, report: { callMs: 12, isProcess: true, address: "https://ref.supabase.co" } },
    { max_rows: 3, cursors: { ask: ["model", "1"] } },
    { max_rows: 0 },
  ]);
  expect(asked[0]?.worker_id).toBe(asked[1]?.worker_id);
});

import { expect, test } from "vitest";
import { task } from "../../supabase/functions/keyframe-generate/tasks/task.ts";
import * as kit from "./generate-fixture.ts";

/** As Postgres has them whose owner chose them: `md5(…)::uuid` is neither version nor variant of RFC 9562. */
const CHOSEN = {
  id: "5f4dcc3b-5aa7-65d6-1d83-27deb882cf99",
  project_id: "e10adc39-49ba-09ab-0e56-e057f20f883e",
  owner_id: "00000000-0000-0000-0000-000000000001",
};
const { deadline_at, ...submit } = kit.submitTask();
const { lease_token, ...sought } = submit;
const { provider_output_url, ...leased } = kit.storeTask("https://replicate.delivery/a.png");
const time = deadline_at.toISOString();
const { id } = leased;
const files = [{ bucket: "keyframe-outputs", name: "a/b.png" }];

const TASKS: Record<string, unknown>[] = [
  { ...submit, deadline_at: time },
  { ...sought, task: "search", search_since: time },
  { ...leased, task: "poll", provider_prediction_id: "run1" },
  { ...leased, provider_output_url },
  { task: "cancel", id, provider_prediction_id: "run1" },
  { task: "remove", id, lease_token, files },
];
const withIds = (one: Record<string, unknown>, ids: Record<string, string>) => ({
  ...one,
  ...Object.fromEntries(Object.entries(ids).filter(([name]) => name in one)),
});

test.each(TASKS)(
  "$task: ids that their owner chose → read, as they are; one that would be a path → unreadable",
  (one) => {
    expect(task.parse(one)).toMatchObject({ id });
    expect(task.parse(withIds(one, CHOSEN))).toMatchObject(withIds({ id }, CHOSEN));
    for (const name of ["id", "project_id", "owner_id", "lease_token"].filter((name) => name in one)) {
      for (const value of ["../e10adc39-49ba-09ab-0e56-e057f20f883", "a/b", "", null]) {
        expect(task.safeParse({ ...one, [name]: value }).success).toBe(false);
      }
    }
  },
);

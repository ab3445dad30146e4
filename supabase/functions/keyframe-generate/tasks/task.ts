import { z } from "zod";
import { id, step } from "../../../../shared/contract/fields.ts";
import { modelSettings } from "../../../../shared/replicate/build-input.ts";

/** Ids go into paths at the provider and in Storage. */
const providerId = z.string().regex(/^[A-Za-z0-9_-]{1,100}$/);
const time = z.string().transform((text, context) => {
  const read = new Date(text);
  if (!Number.isNaN(read.getTime())) return read;
  context.addIssue({ code: "custom", message: "not a time" });
  return z.NEVER;
});

const leased = {
  id,
  project_id: id,
  owner_id: id,
  lease_token: id,
  attempt: z.int().min(1),
  /** Failures of this task in a row, before this time. */
  failures: z.int().min(0),
  step,
};

const submitTask = z.object({
  task: z.literal("submit"),
  ...leased,
  model: z.string().regex(/^[a-z0-9._-]+\/[a-z0-9._-]+$/),
  prompt: z.string(),
  duration_seconds: z.int().nullable(),
  deadline_at: time,
  /** Set when an earlier submit may have been accepted without our hearing of it. */
  search_since: time.nullable(),
  reference_image_path: z.string().startsWith("projects/").nullable(),
  first_frame_path: z.string().nullable(),
  last_frame_path: z.string().nullable(),
  model_settings: modelSettings,
});
/** The prediction has ended, so that there is no lease to hold: what the search finds is recorded whoever asks. */
const searchTask = submitTask
  .omit({ lease_token: true, failures: true, deadline_at: true })
  .extend({ task: z.literal("search"), search_since: time });
const pollTask = z.object({ task: z.literal("poll"), ...leased, provider_prediction_id: providerId });
const storeTask = z.object({ task: z.literal("store"), ...leased, provider_output_url: z.string() });
const removeTask = z.object({
  task: z.literal("remove"),
  id,
  lease_token: id,
  files: z.array(z.object({ bucket: z.enum(["projects", "keyframe-outputs"]), name: z.string().min(1) })).min(1),
});
const cancelTask = z.object({ task: z.literal("cancel"), id, provider_prediction_id: providerId });

/** What claim_predictions hands out: one JSON object per task. */
export const task = z.discriminatedUnion("task", [submitTask, searchTask, pollTask, storeTask, cancelTask, removeTask]);

/** How a log line names a task: by its prediction; files to remove are of many. */
export function identify({ task, id }: { task: string; id: string }): Record<string, string> {
  return task === "remove" ? { taskId: id } : { predictionId: id };
}

export type Task = z.infer<typeof task>;
export type SubmitTask = z.infer<typeof submitTask>;
export type SearchTask = z.infer<typeof searchTask>;
/** What tells a prediction's runs from others at the provider. */
export type SoughtTask = Omit<SubmitTask, "task" | "lease_token" | "failures" | "deadline_at">;
export type PollTask = z.infer<typeof pollTask>;
export type StoreTask = z.infer<typeof storeTask>;
export type CancelTask = z.infer<typeof cancelTask>;
export type RemoveTask = z.infer<typeof removeTask>;
export type LeasedTask = SubmitTask | PollTask | StoreTask;

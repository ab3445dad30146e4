import { z } from "zod";
import { id, step } from "../../../../shared/contract/fields.ts";
import { modelSettings } from "../../../../shared/replicate/build-input.ts";
import { providerPrediction } from "../../../../shared/replicate/provider-prediction.ts";

const provider_prediction_id = providerPrediction.shape.id;
const time = z.string().pipe(z.coerce.date());

const leased = {
  id,
  project_id: id,
  owner_id: id,
  lease_token: id,
  attempt: z.int().min(1),
  step,
};

const submitTask = z.object({
  task: z.literal("submit"),
  ...leased,
  model: z.string().regex(/^[a-z0-9._-]+\/[a-z0-9._-]+(:[A-Za-z0-9._-]+)?$/),
  input: z.looseObject({ prompt: z.string() }),
  deadline_at: time,
  /** The first of the earlier attempts whose submit is unanswered, and when it was submitted. */
  search_attempt: z.int().min(1).nullable(),
  search_since: time.nullable(),
  /** In the order in which the model gets them. The name is null when the prediction that made the image is deleted. */
  images: z.array(
    z.object({
      role: z.enum(["first_frame", "last_frame", "reference"]),
      bucket: z.enum(["projects", "keyframe-outputs"]),
      name: z.string().min(1).nullable(),
    }),
  ),
  has_images: z.boolean(),
  model_settings: modelSettings,
});
/** Without a lease of the prediction, which may have ended or been deleted: every result of a search is recorded. */
const searchTask = submitTask
  .omit({ project_id: true, owner_id: true, lease_token: true, deadline_at: true, images: true })
  .extend({ task: z.literal("search"), search_attempt: z.int().min(1), search_since: time });
const pollTask = z.object({ task: z.literal("poll"), ...leased, provider_prediction_id });
const storeTask = z.object({
  task: z.literal("store"),
  ...leased,
  provider_output_url: z.string(),
  /** The code of the last failure of this task; null without one. */
  retry_reason: z.string().nullable(),
});
const removeTask = z.object({
  task: z.literal("remove"),
  id,
  lease_token: id,
  files: z.array(z.object({ bucket: z.enum(["projects", "keyframe-outputs"]), name: z.string().min(1) })).min(1),
});
const cancelTask = z.object({
  task: z.literal("cancel"),
  id,
  attempt: leased.attempt,
  provider_prediction_id,
});

/** A task from claim_predictions. */
export const task = z.discriminatedUnion("task", [submitTask, searchTask, pollTask, storeTask, cancelTask, removeTask]);

/** The identifier of a task in log lines: its prediction, except for files to remove, which belong to several. */
export function identify({ task, id }: { task: string; id: string }): Record<string, string> {
  return task === "remove" ? { taskId: id } : { predictionId: id };
}

export type SubmitTask = z.infer<typeof submitTask>;
export type SearchTask = z.infer<typeof searchTask>;
/** What identifies the runs of a prediction at the provider. */
export type SoughtTask = Pick<SubmitTask, Exclude<keyof SearchTask, "task">> & { task: "submit" | "search" };
export type PollTask = z.infer<typeof pollTask>;
export type StoreTask = z.infer<typeof storeTask>;
export type CancelTask = z.infer<typeof cancelTask>;
export type RemoveTask = z.infer<typeof removeTask>;
export type LeasedTask = SubmitTask | PollTask | StoreTask;

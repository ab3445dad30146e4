import { z } from "zod";
import { id, step } from "../../../../shared/contract/fields.ts";
import { modelSettings } from "../../../../shared/replicate/build-input.ts";
import { providerPrediction } from "../../../../shared/replicate/provider-prediction.ts";

const provider_prediction_id = providerPrediction.shape.id;
const time = z.string().pipe(z.coerce.date());

/** A leased row of the queue. `id` is the row's prediction, or the owner (remove, admit). */
const leaseFields = { id, work_id: z.int(), lease_token: id };
const attempt = z.int().min(1);
const predictionFields = { ...leaseFields, project_id: id, owner_id: id, attempt, step };

/** What begin_submit returns for a leased submit: what to send. */
export const submit = z.object({
  id,
  attempt,
  step,
  model: z.string().regex(/^[a-z0-9._-]+\/[a-z0-9._-]+(:[A-Za-z0-9._-]+)?$/),
  input: z.looseObject({ prompt: z.string() }),
  deadline_at: time,
  /** The earliest attempt whose submit is unanswered, and when it was sent. */
  search_attempt: z.int().min(1).nullable(),
  search_since: time.nullable(),
  /** Images in the order in which the model gets them. The name is null if the prediction that made the image was deleted. */
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
const submitTask = z.object({ task: z.literal("submit"), ...leaseFields });
/** The prediction of a search may have ended or been deleted. */
const searchTask = submit
  .omit({ deadline_at: true, images: true })
  .extend({ task: z.literal("search"), ...leaseFields, search_attempt: attempt, search_since: time });
const pollTask = z.object({ task: z.literal("poll"), ...predictionFields, provider_prediction_id });
const storeTask = z.object({
  task: z.literal("store"),
  ...predictionFields,
  provider_output_url: z.string(),
  /** The code of this task's last failure; null if it has not failed. */
  last_error: z.string().nullable(),
});
const removeTask = z.object({ task: z.literal("remove"), ...leaseFields });
const cancelTask = z.object({ task: z.literal("cancel"), ...leaseFields, attempt, provider_prediction_id });
/** Tasks that the database does by itself. */
const expireTask = z.object({ task: z.enum(["expire", "give_up"]), ...leaseFields });
const admitTask = z.object({ task: z.enum(["admit", "continue"]), ...leaseFields });

/** A task from claim_tasks. */
export const task = z.discriminatedUnion("task", [
  submitTask,
  searchTask,
  pollTask,
  storeTask,
  cancelTask,
  removeTask,
  expireTask,
  admitTask,
]);

/** What begin_removal returns. */
export const files = z.array(z.object({ bucket: z.enum(["projects", "keyframe-outputs"]), name: z.string().min(1) }));

/** The identifier of a task in log lines: the prediction, or the owner. */
export function identify({ task, id }: { task: string; id: string }): Record<string, string> {
  return task === "remove" || task === "admit" ? { ownerId: id } : { predictionId: id };
}

/** A submit that has begun. */
export type SubmitTask = z.infer<typeof submit> & Lease & { task: "submit" };
/** The lease of a row of the queue. */
export type Lease = { work_id: number; lease_token: string };
export type SearchTask = z.infer<typeof searchTask>;
/** A task that searches for the provider runs of unanswered submits. */
export type SearchingTask = SubmitTask | SearchTask;
export type PollTask = z.infer<typeof pollTask>;
export type StoreTask = z.infer<typeof storeTask>;
export type CancelTask = z.infer<typeof cancelTask>;
export type RemoveTask = z.infer<typeof removeTask>;
/** A task that can complete, fail or retry its prediction. */
export type PredictionTask = SubmitTask | PollTask | StoreTask;
export type Task = z.infer<typeof task>;

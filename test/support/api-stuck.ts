import type postgres from "postgres";
import type { Step } from "../../shared/contract/fields.ts";
import type { Prediction } from "../../shared/contract/predictions.ts";
import { uniquePrompt } from "./api-provider.ts";
import type { User } from "./api-user.ts";
import { until } from "./until.ts";

/**
 * Starts a prediction that has been handed to the provider and stays in `starting`: no callback comes, and the time to ask
 * the provider instead is put off by an hour.
 */
export async function startStuck(sql: postgres.Sql, user: User, step: Step, projectId: string): Promise<Prediction> {
  const prompt = uniquePrompt("[[fault:callback_lost]]");
  const { predictionId } = await user.start(step, { projectId, prompt });
  const stuck = await until("the provider's answer", async () => {
    const now = await user.read(step, projectId, predictionId);
    return now.status === "queued" ? undefined : now;
  });
  await sql`update public.predictions set next_attempt_at = now() + interval '1 hour' where id = ${predictionId}`;
  return stuck;
}

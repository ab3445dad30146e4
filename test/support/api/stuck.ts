import type postgres from "postgres";
import type { Step } from "../../../shared/contract/fields.ts";
import type { Prediction } from "../../../shared/contract/predictions.ts";
import { uniquePrompt } from "./provider.ts";
import type { User } from "./user.ts";
import { until } from "../until.ts";

/**
 * Starts a prediction that has been handed to the provider and stays in `starting`: no callback comes, and the time to ask
 * the provider instead is put off by an hour. On a busy machine it may have been asked before that; then another one takes its place.
 */
export async function startStuck(
  sql: postgres.Sql,
  user: Pick<User, "start" | "read">,
  step: Step,
  projectId: string,
): Promise<Prediction> {
  for (let attempt = 1; attempt <= 5; attempt++) {
    const prompt = uniquePrompt("[[fault:callback_lost]]");
    const { predictionId } = await user.start(step, { projectId, prompt });
    const isStuck = await until("the provider's answer", async () => {
      const put = await sql`
        update keyframe_private.work w set due_at = now() + interval '1 hour' from keyframe.predictions p
        where p.id = ${predictionId} and p.status = 'starting' and w.subject = p.id and w.kind = 'poll' and w.state = 'scheduled'
        returning w.id`;
      if (put.length > 0) return { yes: true };
      const ended = await sql`select from keyframe.predictions where id = ${predictionId} and completed_at is not null`;
      return ended.length > 0 ? { yes: false } : undefined;
    });
    if (isStuck.yes) return await user.read(step, projectId, predictionId);
    await sql`delete from keyframe.predictions where id = ${predictionId}`;
  }
  throw new Error("No prediction stayed with the provider.");
}

import type { Step } from "../../shared/contract/fields.ts";
import { endOfAddress } from "./signed-address.ts";
import { insist, type World } from "./world.ts";

type Made = { predictionId: string; projectId: string; step: Step };

/**
 * When all has come to rest, every second user looks at an output once more and deletes its project: so each run, however
 * short, sees what a deletion has to take along. Returns how many projects went.
 */
export async function farewell({ sql, ledger, users }: World): Promise<number> {
  let deleted = 0;
  for (const { client, userId } of users.filter(({ gone }, number) => !gone && number % 2 === 0)) {
    const [made] = await insist(
      () => sql<Made[]>`
        select id as "predictionId", project_id as "projectId", step from keyframe.predictions
        where owner_id = ${userId} and status = 'succeeded' order by reference_image_path is null limit 1`,
    );
    if (!made) continue;
    const { output } = await insist(() => client.readPrediction(made), 10);
    if (output) ledger.addresses.push({ told: output.expiresAt, ends: endOfAddress(output.url) });
    ledger.deletedProjects.add(made.projectId);
    await insist(() => client.deleteProject(made.projectId), 10);
    deleted += 1;
  }
  return deleted;
}

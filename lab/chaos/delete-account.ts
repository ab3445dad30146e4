import type { Dice } from "./dice.ts";
import { insist, type World } from "./world.ts";

/**
 * Ends a user's account as Studio does, by SQL, with whatever of it runs: rather one of whom a submit has no answer.
 * At least half of the users stay. False when that leaves nobody.
 */
export async function deleteAccount(world: World, dice: Dice): Promise<boolean> {
  const { sql, ledger, users } = world;
  const there = users.filter(({ gone }) => !gone);
  if (there.length - 1 < users.length / 2) return false;
  const [unheard] = await sql<{ owner_id: string }[]>`
    select owner_id from keyframe.predictions where unanswered_since is not null group by 1 order by count(*) desc limit 1`;
  const leaver = there.find(({ userId }) => userId === unheard?.owner_id) ?? dice.pick(there);
  leaver.gone = true;
  await leaver.busy;
  const projects = await insist(() =>
    sql.begin(async (transaction) => {
      const rows = await transaction<
        { id: string }[]
      >`select id from keyframe.projects where owner_id = ${leaver.userId}`;
      await transaction`delete from auth.users where id = ${leaver.userId}`;
      return rows.map(({ id }) => id);
    }),
  );
  for (const id of projects) ledger.deletedProjects.add(id);
  ledger.leftUploads.push(...leaver.references);
  // Nobody can ask any more what came of these.
  for (const start of ledger.starts) {
    if (start.outcome === "unanswered" && ledger.deletedProjects.has(start.projectId)) {
      start.outcome = { refused: "account_deleted" };
    }
  }
  return true;
}

import { forget, hasEnded, look } from "./look.ts";
import { codeOf } from "./user.ts";
import { insist, type World } from "./world.ts";

/** Of what a user knows to have ended, so many are looked at once more. */
const MOST_AGAIN = 10;

/**
 * When all has come to rest, every user asks once more for what they do not know the end of, as a poller whose tab was left
 * open: with the tag of long ago. Returns how many looks that were.
 */
export async function lastLooks(world: World): Promise<number> {
  let looks = 0;
  for (const user of world.users.filter(({ gone }) => !gone)) {
    const ended = [...user.told].filter(([, { status }]) => hasEnded(status));
    const open = [...user.told].filter(([, { status }]) => !hasEnded(status));
    for (const [predictionId] of [...open, ...ended.slice(-MOST_AGAIN)]) {
      looks += 1;
      await insist(
        () =>
          look(user, world, predictionId, true).catch((error) => {
            if (codeOf(error) !== "not_found") throw error;
            forget(user, predictionId);
          }),
        10,
      );
    }
  }
  return looks;
}

import type { Ledger } from "./ledger.ts";
import { codeOf, isUnanswered } from "./user.ts";

const TRIES = 5;

/**
 * Asks again for every start that got no answer, with the same key, as an app does: each then was accepted, before or now,
 * or is refused. Returns how many it were.
 */
export async function settleStarts({ starts }: Ledger): Promise<number> {
  const open = starts.filter(({ outcome }) => outcome === "unanswered");
  for (const start of open) {
    for (let tries = 1; start.outcome === "unanswered"; tries++) {
      try {
        start.outcome = { accepted: (await start.repeat()).predictionId };
      } catch (error) {
        if (!isUnanswered(error)) start.outcome = { refused: codeOf(error) };
        else if (tries === TRIES) throw error;
      }
    }
  }
  return open.length;
}

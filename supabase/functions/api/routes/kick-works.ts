import type { LastKick } from "../../../../shared/contract/service.ts";

/** A function looks for work within moments of the kick that it accepts, a cold start included. */
const SOON_SECONDS = 30;

/** Whether kicks reach a function, by its last one. Null: that says nothing. */
export function kickWorks({ outcome, madeSeconds, acknowledgedAfterSeconds }: LastKick): boolean | null {
  // Whatever was answered: who looks for work has heard it. A function that starts slowly answers too late for pg_net.
  if (acknowledgedAfterSeconds !== null) return true;
  if (outcome === "none" || outcome === "unanswered") return null;
  return outcome === "accepted" && (madeSeconds ?? 0) < SOON_SECONDS;
}

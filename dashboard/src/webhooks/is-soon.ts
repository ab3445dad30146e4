import type { Delivery } from "../../../client/index.ts";

/** One that is being sent was due already: its next attempt lies in the past. */
const SOON_MS = 90_000;

/** Whether something becomes of a delivery within moments: it is being sent, or is about to be. */
export const isSoon = ({ status, nextAttemptAt }: Delivery, now: number): boolean =>
  status === "pending" && nextAttemptAt !== null && Date.parse(nextAttemptAt) - now < SOON_MS;

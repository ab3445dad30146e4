import type { Delivery } from "../../../client/index.ts";

/** Longer than a sender holds a delivery: while it is being sent, its next attempt is when that hold ends. */
const SOON_MS = 90_000;

/** Whether something becomes of a delivery within moments: it is being sent, or is about to be. */
export const isSoon = ({ status, nextAttemptAt }: Delivery, now: number): boolean =>
  status === "pending" && nextAttemptAt !== null && Date.parse(nextAttemptAt) - now < SOON_MS;

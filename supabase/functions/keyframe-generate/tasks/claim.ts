import { z } from "zod";
import { type CallDatabase, DatabaseError } from "../../../../shared/platform/call-database.ts";
import { createCallSize } from "../../../../shared/worker/call-size.ts";
import type { PlacesReport } from "../../../../shared/worker/places.ts";
import { setAside } from "../../../../shared/worker/set-aside.ts";
import type { Room } from "./task-places.ts";

/** Longer than a task and the recording of its result may take: work must have stopped when its lease expires. */
export const LEASE_SECONDS = 90;

/** How many tasks one claim leases. After a claim that took too long a quarter, one by one; it doubles with each that succeeds. */
const CLAIM_AT_ONCE = 10;

const claimed = z.array(
  z.looseObject({ task: z.string(), id: z.string(), owner_id: z.string().optional(), resource: z.string().optional() }),
);
export type Claimed = z.infer<typeof claimed>[number];
/** No answer, or statement_timeout: the claim may have been too large. */
const tookTooLong = (error: unknown) => error instanceof DatabaseError && (error.code === "" || error.code === "57014");

/**
 * Leases due tasks, at most `places` and as `room` says; without places it is a heartbeat only. With nothing due it may wait up to
 * waitMs. `load`: what health says of the places. `asides`: rows that could not be leased.
 */
export function createClaim(call: CallDatabase, address?: string) {
  const size = createCallSize(1 / CLAIM_AT_ONCE);
  return async (
    places: number,
    room: (most: number) => Room,
    heartbeat_ms: number,
    wait_ms: number,
    callMs: number,
    load?: PlacesReport,
  ) => {
    const max_rows = Math.min(places, size.of(CLAIM_AT_ONCE));
    const one_by_one = size.isReduced();
    const limits = { max_rows, lease_seconds: LEASE_SECONDS, heartbeat_ms, wait_ms, one_by_one };
    const report = { callMs: Math.round(callMs), places: load, isProcess: address !== undefined, address };
    const answer = await call("claim_predictions", { ...limits, report, room: room(max_rows) }).catch((error) => {
      if (tookTooLong(error)) size.failed();
      throw error;
    });
    size.succeeded();
    const rows = claimed.parse(answer);
    const isTask = ({ task }: Claimed) => task !== "set_aside";
    return { tasks: rows.filter(isTask), asides: z.array(setAside).parse(rows.filter((row) => !isTask(row))) };
  };
}

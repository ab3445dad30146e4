import { useState } from "react";
import type { Delivery } from "../../../client/index.ts";
import { type HeldList, holdList } from "./hold-list.ts";

type Held = HeldList & { fresh: Delivery[] };

/**
 * What to show of `fresh`: all of it, or while `isHeld` the rows that were there when that began, so that what is read stays
 * where it is. `showNewer` begins anew with all. `fresh` must be the same array until something changes.
 */
export function useHeldList(fresh: Delivery[] | undefined, isHeld: boolean) {
  const [held, setHeld] = useState<Held | null>(null);
  const take = (rows: Delivery[], all: Delivery[]): void => setHeld({ ...holdList(rows, all), fresh: all });
  // While rendering, as React has it for a state that follows from what is given: no frame shows what is not held yet.
  if (!isHeld && held !== null) setHeld(null);
  if (isHeld && fresh !== undefined && held?.fresh !== fresh) take(held?.rows ?? fresh, fresh);
  return {
    rows: isHeld ? (held?.rows ?? fresh) : fresh,
    newer: isHeld ? (held?.newer ?? 0) : 0,
    showNewer: () => fresh !== undefined && take(fresh, fresh),
  };
}

import { lookup } from "node:dns/promises";
import type { Log } from "../../../../shared/platform/log.ts";
import { createAttempt } from "./attempt.ts";
import { createCheckedLookup } from "./checked-lookup.ts";
import type { AttemptResult, Delivery } from "../drain/delivery.ts";
import { createPost } from "./post.ts";

/** Everything that speaks to receivers, in one module, so that index.ts can read it and its packages when there is a kick. */
export function createSender(allowLocal: boolean, log: Log): (delivery: Delivery) => Promise<AttemptResult> {
  const checked = createCheckedLookup((name) => lookup(name, { all: true }), { allowLocal });
  return createAttempt({ post: createPost({ lookup: checked }), allowLocal, now: Date.now, log });
}

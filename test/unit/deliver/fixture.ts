import { createLog } from "../../../shared/platform/log.ts";
import type { Delivery } from "../../../supabase/functions/keyframe-deliver/deliveries/database.ts";
import { createAttempt } from "../../../supabase/functions/keyframe-deliver/send/attempt.ts";
import { createCheckedLookup, type Resolve } from "../../../supabase/functions/keyframe-deliver/send/checked-lookup.ts";
import { createPost, type PostSettings } from "../../../supabase/functions/keyframe-deliver/send/post.ts";

export const SECRET = `whsec_${btoa("a".repeat(32))}`;
const EVENT = "5d7f6f0e-6a0c-4d6e-9f38-0e8f6f1b7a05";

/** Names under .test are this machine, as far as the tests are concerned. */
export const resolveHere: Resolve = async () => [{ address: "127.0.0.1", family: 4 }];

export const delivery = (url: string, change: Partial<Delivery> = {}): Delivery => ({
  id: "4d7f6f0e-6a0c-4d6e-9f38-0e8f6f1b7a04",
  work_id: 1,
  attempt: 1,
  endpoint_id: "7d7f6f0e-6a0c-4d6e-9f38-0e8f6f1b7a07",
  event_id: EVENT,
  body: '{"type": "webhook.test", "data": {"endpointId": "ä😀"}}',
  url,
  secrets: [SECRET],
  ...change,
});

export function makeAttempt(
  settings: Partial<PostSettings> & {
    resolve?: Resolve;
    allowLocal?: boolean;
    now?: () => number;
    elapsed?: () => number;
    lines?: string[];
  } = {},
) {
  const { resolve = resolveHere, allowLocal = true, now = Date.now, lines = [], ...others } = settings;
  const { elapsed = () => performance.now(), ...rest } = others;
  const post = createPost({ lookup: createCheckedLookup(resolve, { allowLocal }), timeoutMs: 60_000, ...rest });
  return createAttempt({ post, allowLocal, now, elapsed, log: createLog({}, (line) => lines.push(line)) });
}

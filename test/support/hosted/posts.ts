import { createCheckedLookup } from "../../../supabase/functions/keyframe-deliver/send/checked-lookup.ts";
import { createPost } from "../../../supabase/functions/keyframe-deliver/send/post.ts";

/** One after the other, over the same connections. */
export type HostedPosts = {
  urls: string[];
  resolvesTo: string[];
  ca?: string;
  timeoutMs?: number;
  allowLocal: boolean;
};

/** Makes the posts that its first argument describes in JSON, and prints what came of them as one line of JSON. */
if (import.meta.main) {
  const { urls, resolvesTo, allowLocal, ...settings }: HostedPosts = JSON.parse(Deno.args[0] ?? "");
  const resolve = async () => resolvesTo.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  const post = createPost({ lookup: createCheckedLookup(resolve, { allowLocal }), ...settings });
  const posted = [];
  for (const url of urls) posted.push(await post(new URL(url), { "webhook-id": "1" }, '{"a":"ä"}'));
  console.log(JSON.stringify(posted));
}

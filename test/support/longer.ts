/** How much more is tried by what repeats itself or fills tables: KEYFRAME_LONGER=10 for ten times as much (test/README.md). */
export const LONGER = Number(Deno.env.get("KEYFRAME_LONGER") ?? 1);

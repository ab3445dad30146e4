import { createCheckedCopy } from "../../../supabase/functions/keyframe-generate/tasks/store.ts";
import { readOutput } from "../../../supabase/functions/keyframe-generate/files/open-output.ts";
import { createStorage } from "../../../supabase/functions/keyframe-generate/files/storage.ts";

/** Copies the picture at the first argument into the Storage at the second, and prints as JSON what was read or what went wrong. */
if (import.meta.main) {
  const [from = "", to = ""] = Deno.args;
  const signal = AbortSignal.any([AbortSignal.timeout(60_000)]);
  const file = { bucket: "keyframe-outputs", name: "a/b.png" } as const;
  const storage = createStorage(to, "sb_secret_made-up", fetch);
  const source = readOutput(from, { isAllowed: () => true, fetch, idleMs: 3_000 }, signal);
  const copy = await createCheckedCopy(source);
  let refused: string | null = null;
  await storage.upload(file, copy.type, copy.body, signal).catch((error) => {
    refused = error.message;
  });
  let result: unknown;
  try {
    result = copy.result() ?? null;
  } catch (error) {
    result = error instanceof Error && "code" in error ? error.code : String(error);
  }
  console.log(JSON.stringify({ refused, result }));
}

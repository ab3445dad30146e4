/** Copies so many videos from a host to Storage with the code of keyframe-generate, until the process is ended. */
import { pause } from "../../../shared/platform/retry.ts";
import { createStorage } from "../../../supabase/functions/keyframe-generate/files/storage.ts";
import type { Deps } from "../../../supabase/functions/keyframe-generate/tasks/database.ts";
import { store } from "../../../supabase/functions/keyframe-generate/tasks/store.ts";

const [copies, url = ""] = Deno.args;
await fetch(`${url}/idle`); // answered when the memory has been read
const never = new AbortController().signal;
const log = { info: () => undefined, warn: console.error, error: console.error };
const deps = {
  storage: createStorage(url, "", fetch),
  outputs: { isAllowed: () => true, fetch },
  log,
} as unknown as Deps;
for (let copy = 0; copy < Number(copies); copy++) {
  const of = {
    id: `${copy}`,
    owner_id: "owner",
    project_id: "project",
    work_id: copy,
    lease_token: "",
    attempt: 1,
    last_error: null,
  };
  const task = { task: "store", ...of, step: "video", provider_output_url: `${url}/video` } as const;
  void store(task, deps, never);
}
await pause(60_000);

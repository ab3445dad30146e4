import { answerJobs } from "../job-process.ts";
import { createClient } from "@supabase/supabase-js";
import Replicate from "replicate";

// What one would write without a backend: wait for the provider's answer, copy the file into Storage, write a row.
// Uses the providers' clients and the fastest wait, an answer that is held to the end.

export type ScriptSettings = {
  url: string;
  secretKey: string;
  provider: string;
  token: string;
  model: `${string}/${string}`;
  input: Record<string, unknown>;
  bucket: string;
  table: string;
};
/** Makes so many frames at once; without `store` they are only made. */
export type ScriptJob = { atOnce: number; store: boolean };

const settings: ScriptSettings = JSON.parse(Deno.env.get("SCRIPT") ?? "");
const { url, secretKey, provider, token, model, input, bucket, table } = settings;
const replicate = new Replicate({ auth: token, baseUrl: provider, useFileOutput: false });
const supabase = createClient(url, secretKey, { auth: { persistSession: false, autoRefreshToken: false } });

async function makeFrame(store: boolean): Promise<void> {
  const output = await replicate.run(model, { input, wait: { mode: "block", timeout: 60 } });
  const address = Array.isArray(output) ? output[0] : output;
  if (!store) return;
  const file = await fetch(String(address));
  const bytes = await file.arrayBuffer();
  const path = `script/${crypto.randomUUID()}.png`;
  const stored = await supabase.storage.from(bucket).upload(path, bytes, { contentType: "image/png" });
  if (stored.error) throw stored.error;
  const written = await supabase.from(table).insert({ path, bytes: bytes.byteLength });
  if (written.error) throw new Error(written.error.message);
}

await answerJobs(async ({ atOnce, store }: ScriptJob) => {
  await Promise.all(Array.from({ length: atOnce }, () => makeFrame(store)));
});

import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { createClient } from "@supabase/supabase-js";
import Replicate from "replicate";
import type { ScriptSettings } from "./script.ts";

// What one would write instead of a backend: ask the provider and wait for its answer, copy the file into Storage, write a row.
// With the providers' own clients and the provider's way to wait that is quickest, an answer that is held to the end.

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

for await (const line of createInterface({ input: Readable.from(Deno.stdin.readable) })) {
  const { atOnce, store }: { atOnce: number; store: boolean } = JSON.parse(line);
  const answer = await Promise.all(Array.from({ length: atOnce }, () => makeFrame(store))).then(
    () => ({ made: atOnce }),
    (error: Error) => ({ error: error.message }),
  );
  console.log(JSON.stringify(answer));
}

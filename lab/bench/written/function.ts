import { createClient, type SupabaseClient } from "@supabase/supabase-js";
import { type Context, Hono } from "hono";
import Replicate from "replicate";
import { z } from "zod";

// For comparison: the edge function that one would write with the platform's clients and a table of one's own, without
// queue, retries, limits or webhooks. It waits for nothing that it can leave out.

const environment = z.object({
  SUPABASE_URL: z.string(),
  PUBLISHABLE_KEY: z.string(),
  SECRET_KEY: z.string(),
  REPLICATE_URL: z.string(),
  REPLICATE_API_TOKEN: z.string(),
  MODEL: z.templateLiteral([z.string(), "/", z.string()]),
  INPUT: z.string().transform((text) => z.record(z.string(), z.unknown()).parse(JSON.parse(text))),
});
const env = environment.parse(Deno.env.toObject());
const BUCKET = "written";
const replicate = new Replicate({ auth: env.REPLICATE_API_TOKEN, baseUrl: env.REPLICATE_URL, useFileOutput: false });
const auth = { persistSession: false, autoRefreshToken: false };
const admin = createClient(env.SUPABASE_URL, env.SECRET_KEY, { auth });

const newProject = z.object({ title: z.string().min(1).max(200), textPrompt: z.string().min(1).max(4000) });
const newFrame = z.object({ projectId: z.uuid(), prompt: z.string().min(1).max(4000) });
const requestedFrame = z.object({ projectId: z.uuid(), predictionId: z.uuid() });

type Caller = { id: string; supabase: SupabaseClient };

/** The caller, with a client of their rights. */
async function authenticate(c: Context): Promise<Caller> {
  const authorization = c.req.header("Authorization") ?? "";
  const supabase = createClient(env.SUPABASE_URL, env.PUBLISHABLE_KEY, {
    auth,
    global: { headers: { Authorization: authorization } },
  });
  const { data, error } = await supabase.auth.getUser(authorization.replace("Bearer ", ""));
  if (error) throw error;
  return { id: data.user.id, supabase };
}

const app = new Hono().basePath("/written");

app.post("/projects", async (c) => {
  const { id, supabase } = await authenticate(c);
  const { title, textPrompt } = newProject.parse(await c.req.json());
  const row = { owner_id: id, title, text_prompt: textPrompt };
  const { data } = await supabase.from("written_projects").insert(row).select().single().throwOnError();
  return c.json(data, 201);
});

app.post("/first-frame", async (c) => {
  const { id, supabase } = await authenticate(c);
  const { projectId, prompt } = newFrame.parse(await c.req.json());
  const run = await replicate.predictions.create({ model: env.MODEL, input: { ...env.INPUT, prompt } });
  const row = { owner_id: id, project_id: projectId, prompt, status: run.status, provider_id: run.id };
  const { data } = await supabase.from("written_predictions").insert(row).select().single().throwOnError();
  return c.json(data, 202);
});

app.get("/first-frame", async (c) => {
  const { supabase } = await authenticate(c);
  const { projectId, predictionId } = requestedFrame.parse(c.req.query());
  const { data } = await supabase
    .from("written_predictions")
    .select()
    .eq("project_id", projectId)
    .eq("id", predictionId)
    .single()
    .throwOnError();
  if (data.path === null) return c.json(data);
  const signed = await admin.storage.from(BUCKET).createSignedUrl(data.path, 3600);
  if (signed.error) throw signed.error;
  return c.json({ ...data, url: signed.data.signedUrl });
});

/** Waits until the frame is there and stored. */
app.post("/stored-first-frame", async (c) => {
  const { id, supabase } = await authenticate(c);
  const { projectId, prompt } = newFrame.parse(await c.req.json());
  const input = { ...env.INPUT, prompt };
  const output = await replicate.run(env.MODEL, { input, wait: { mode: "block", timeout: 60 } });
  const file = await fetch(String(Array.isArray(output) ? output[0] : output));
  const path = `${id}/${crypto.randomUUID()}.png`;
  const stored = await admin.storage.from(BUCKET).upload(path, await file.arrayBuffer(), { contentType: "image/png" });
  if (stored.error) throw stored.error;
  const row = { owner_id: id, project_id: projectId, prompt, status: "succeeded", path };
  const { data } = await supabase.from("written_predictions").insert(row).select().single().throwOnError();
  return c.json(data, 201);
});

Deno.serve(app.fetch);

import { DBOS } from "@dbos-inc/dbos-sdk";
import { createClient } from "@supabase/supabase-js";
import { Hono } from "hono";
import postgres from "postgres";
import Replicate from "replicate";
import { Webhook } from "standardwebhooks";
import { z } from "zod";

// A first frame as a durable workflow: each stage is a step that a restart does not repeat once it is recorded, and the
// provider's callback is a message. Without sessions, rights, limits, budgets, checks of the file, cancellation and deliveries.

const environment = z.object({
  DATABASE_URL: z.string(),
  SUPABASE_URL: z.string(),
  SECRET_KEY: z.string(),
  REPLICATE_URL: z.string(),
  REPLICATE_API_TOKEN: z.string(),
  WEBHOOK_SECRET: z.string(),
  OWN_URL: z.string(),
  MODEL: z.templateLiteral([z.string(), "/", z.string()]),
  INPUT: z.string().transform((text) => z.record(z.string(), z.unknown()).parse(JSON.parse(text))),
});
const env = environment.parse(Deno.env.toObject());
const sql = postgres(env.DATABASE_URL, { max: 10 });
const replicate = new Replicate({ auth: env.REPLICATE_API_TOKEN, baseUrl: env.REPLICATE_URL, useFileOutput: false });
const { storage } = createClient(env.SUPABASE_URL, env.SECRET_KEY, {
  auth: { persistSession: false, autoRefreshToken: false },
});
const webhook = new Webhook(env.WEBHOOK_SECRET);

const newFrame = z.object({ ownerId: z.uuid(), projectId: z.uuid(), prompt: z.string().min(1).max(4000) });
const callback = z.object({ id: z.string(), status: z.string(), output: z.unknown() });
type Callback = z.infer<typeof callback>;

const makeFrame = DBOS.registerWorkflow(
  async ({ ownerId, projectId, prompt }: z.infer<typeof newFrame>): Promise<string> => {
    const id = z.uuid().parse(DBOS.workflowID);
    await DBOS.runStep(
      async () => {
        await sql`insert into dbos_app.frames (id, owner_id, project_id, prompt) values (${id}, ${ownerId}, ${projectId}, ${prompt})
          on conflict do nothing`;
      },
      { name: "insert" },
    );
    await DBOS.runStep(
      async () => {
        const run = await replicate.predictions.create({
          model: env.MODEL,
          input: { ...env.INPUT, prompt },
          webhook: `${env.OWN_URL}/callbacks/${id}`,
          webhook_events_filter: ["completed"],
        });
        await sql`update dbos_app.frames set status = ${run.status}, provider_id = ${run.id} where id = ${id}`;
      },
      { name: "submit" },
    );
    const ended = await DBOS.recv<Callback>("callback", 60);
    if (ended?.status !== "succeeded") throw new Error(`The run is ${ended?.status ?? "unanswered"}.`);
    const file = await DBOS.runStep(
      async () => {
        const bytes = await (await fetch(String([ended.output].flat()[0]))).arrayBuffer();
        const sha256 = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
        const path = `${ownerId}/${id}.png`;
        const stored = await storage.from("dbos").upload(path, bytes, { contentType: "image/png", upsert: true });
        if (stored.error) throw stored.error;
        return { path, sha256 };
      },
      { name: "copy" },
    );
    await DBOS.runStep(
      async () => {
        await sql.begin(async (sql) => {
          await sql`update dbos_app.frames set status = 'succeeded', path = ${file.path}, sha256 = ${file.sha256} where id = ${id}`;
          await sql`insert into dbos_app.events (frame_id, type) values (${id}, 'generation.succeeded') on conflict do nothing`;
        });
      },
      { name: "finish" },
    );
    return id;
  },
  { name: "makeFrame" },
);

const app = new Hono();

/** Answers when the frame is stored. */
app.post("/stored-first-frame", async (c) => {
  const frame = await DBOS.startWorkflow(makeFrame)(newFrame.parse(await c.req.json()));
  return c.json({ id: await frame.getResult() }, 201);
});

app.post("/callbacks/:id", async (c) => {
  const body = await c.req.text();
  const { "webhook-id": messageId = "", ...headers } = c.req.header();
  webhook.verify(body, { ...headers, "webhook-id": messageId });
  await DBOS.send(c.req.param("id"), callback.parse(JSON.parse(body)), "callback", messageId);
  return c.body(null, 204);
});

// Fifty at once wait for the callback with half of the pool.
DBOS.setConfig({ name: "bench", systemDatabaseUrl: env.DATABASE_URL, systemDatabasePoolSize: 20, logLevel: "error" });
await DBOS.launch();
Deno.serve(app.fetch);

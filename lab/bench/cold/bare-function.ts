/**
 * For comparison: the shortest function with Hono and supabase-js that inserts a project as its caller. It checks
 * nothing else.
 */
import { createClient } from "@supabase/supabase-js";
import { Hono } from "hono";

const { default: publishableKey } = JSON.parse(Deno.env.get("SUPABASE_PUBLISHABLE_KEYS") ?? "{}");
const url = Deno.env.get("SUPABASE_URL") ?? "";
const app = new Hono().basePath("/api");

app.post("/projects", async (c) => {
  const authorization = c.req.header("Authorization");
  if (authorization === undefined) return c.json({ error: "unauthorized" }, 401);
  const supabase = createClient(url, publishableKey, { global: { headers: { Authorization: authorization } } });
  const { data, error } = await supabase
    .from("projects")
    .insert(await c.req.json())
    .select()
    .single();
  return error ? c.json({ error: error.message }, 400) : c.json(data, 201);
});

Deno.serve(app.fetch);

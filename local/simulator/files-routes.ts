import { Hono } from "hono";
import type { Env } from "./api-routes.ts";
import { notFound, Problem } from "./problem.ts";
import type { Simulator } from "./simulator.ts";
import { fileJson } from "./stored-files.ts";

/** The files API: upload (multipart field `content`, JSON field `metadata`), list, get, delete. */
export function filesRoutes({ files, settings }: Simulator): Hono<Env> {
  const routes = new Hono<Env>();
  const find = (id: string) => {
    const file = files.get(id);
    if (!file) throw notFound();
    return file;
  };

  routes.post("/", async (c) => {
    const form = await c.req.formData().catch(() => null);
    const content = form?.get("content");
    if (!(content instanceof File)) throw new Problem(400, "Bad request", "Missing content");
    const file = await files.create(content, await readMetadata(form?.get("metadata") ?? null));
    return c.json(fileJson(file, settings.baseUrl()), 201);
  });
  routes.get("/", (c) => {
    const results = files.list().map((file) => fileJson(file, settings.baseUrl()));
    return c.json({ next: null, previous: null, results });
  });
  routes.get("/:id", (c) => c.json(fileJson(find(c.req.param("id")), settings.baseUrl())));
  routes.delete("/:id", (c) => {
    files.delete(find(c.req.param("id")).id);
    return c.body(null, 204);
  });
  return routes;
}

async function readMetadata(part: File | string | null): Promise<unknown> {
  if (part === null) return {};
  try {
    return JSON.parse(typeof part === "string" ? part : await part.text());
  } catch {
    throw new Problem(400, "Bad request", "metadata is not valid JSON");
  }
}

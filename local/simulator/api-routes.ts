import { Hono } from "hono";
import { models } from "./models.ts";
import { hasEnded, type Prediction, predictionJson } from "./prediction.ts";
import { hashText } from "./random.ts";
import {
  listPage,
  notFound,
  parseCancelAfter,
  parseCreateRequest,
  parsePreferWait,
  Problem,
  unauthenticated,
} from "./requests.ts";
import type { Connection } from "./serve-http.ts";
import type { Simulator } from "./simulator.ts";
import { fileJson } from "./stored-files.ts";

export type Env = { Bindings: { connection: Connection } };

/** The provider's HTTP API, for `/v1`. */
export function apiRoutes(simulator: Simulator): Hono<Env> {
  const { settings } = simulator;
  const api = new Hono<Env>();
  const json = (prediction: Prediction) => predictionJson(prediction, settings.baseUrl());
  const find = (id: string) => {
    const prediction = simulator.get(id);
    if (!prediction) throw notFound();
    return prediction;
  };

  api.use(async (c, next) => {
    if (c.req.header("authorization") !== `Bearer ${settings.token}`) throw unauthenticated();
    await next();
  });

  api.get("/webhooks/default/secret", (c) => c.json({ key: settings.webhookSecret }));
  api.get("/models/:owner/:name", (c) => {
    const { owner, name } = c.req.param();
    return c.json(modelJson(`${owner}/${name}`, settings.baseUrl()));
  });
  api.route("/files", filesRoutes(simulator));

  api.get("/predictions", (c) => c.json(listPage(simulator.list(), new URL(c.req.url).searchParams, settings)));
  api.get("/predictions/:id", (c) => c.json(json(find(c.req.param("id")))));
  api.post("/predictions/:id/cancel", async (c) => {
    const prediction = find(c.req.param("id"));
    await simulator.cancel(prediction);
    return c.json(json(prediction));
  });

  const create = async (model: string | null, request: Request, connection: Connection): Promise<Response> => {
    const headers = (name: string) => request.headers.get(name) ?? undefined;
    const wait = parsePreferWait(headers("prefer"));
    const body = parseCreateRequest(await request.text());
    const name = model ?? modelOfVersion(body.model ?? body.version);
    const created = simulator.create(name, body, parseCancelAfter(headers("cancel-after")));
    if (created === "no answer") {
      await connection.closed;
      return new Response(null, { status: 504 });
    }
    const { prediction, loseAnswer } = created;
    if (loseAnswer) {
      connection.drop();
      return new Response(null, { status: 502 });
    }
    if (wait !== null) {
      const over = new AbortController();
      await Promise.race([prediction.ended, settings.clock.wait(wait, over.signal), connection.closed]);
      over.abort();
    }
    return Response.json(json(prediction), { status: wait !== null && !hasEnded(prediction) ? 202 : 201 });
  };
  api.post("/predictions", (c) => create(null, c.req.raw, c.env.connection));
  api.post("/models/:owner/:name/predictions", (c) => {
    const { owner, name } = c.req.param();
    return create(`${owner}/${name}`, c.req.raw, c.env.connection);
  });
  return api;
}

/** The provider's response for an error of a handler. */
export function answerError(error: Error): Response {
  if (error instanceof Problem) return error.toResponse();
  return new Problem(500, "Internal server error", error.message).toResponse();
}

/** The files API: upload (multipart field `content`, JSON field `metadata`) and get. */
function filesRoutes({ files, settings }: Simulator): Hono<Env> {
  const routes = new Hono<Env>();
  routes.post("/", async (c) => {
    const form = await c.req.formData().catch(() => null);
    const content = form?.get("content");
    if (!(content instanceof File)) throw new Problem(400, "Bad request", "Missing content");
    const file = await files.create(content, await readMetadata(form?.get("metadata") ?? null));
    return c.json(fileJson(file, settings.baseUrl()), 201);
  });
  routes.get("/:id", (c) => {
    const file = files.get(c.req.param("id"));
    if (!file) throw notFound();
    return c.json(fileJson(file, settings.baseUrl()));
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

/** A model's version id: 64 hex digits, always the same. */
function versionId(name: string): string {
  const parts = Array.from({ length: 8 }, (_, i) => hashText(`${i} ${name}`).toString(16).padStart(8, "0"));
  return parts.join("");
}

/** The model's name for the `version` or `model` of a create: `owner/name`, `owner/name:id` or the id. Throws 422. */
function modelOfVersion(version: string | undefined): string {
  const name = Object.keys(models).find((known) => {
    const id = versionId(known);
    return version === known || version === id || version === `${known}:${id}`;
  });
  if (name) return name;
  const detail = "The specified version does not exist (or perhaps you don't have permission to use it?)";
  throw new Problem(422, "Invalid version or not permitted", detail);
}

/** A model as in the API, with its input schema. Throws 404 for an unknown name. */
export function modelJson(name: string, baseUrl: string): object {
  const model = models[name];
  if (!model) throw notFound();
  const [owner, short] = name.split("/");
  return {
    url: `${baseUrl}/${name}`,
    owner,
    name: short,
    description: short,
    visibility: "public",
    is_official: true,
    run_count: 0,
    latest_version: {
      id: versionId(name),
      created_at: "2026-01-01T00:00:00.000Z",
      cog_version: null,
      openapi_schema: { openapi: "3.0.2", info: { title: "Cog", version: "0.1.0" }, ...model.openapi },
    },
  };
}

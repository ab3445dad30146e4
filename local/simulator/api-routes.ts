import { Hono } from "hono";
import { createHash } from "node:crypto";
import { models } from "./models.ts";
import { type Prediction, predictionJson } from "./prediction.ts";
import { listPage, notFound, parseCancelAfter, parseCreateRequest, parseJson, Problem } from "./requests.ts";
import type { Connection } from "./serve-http.ts";
import type { Simulator } from "./simulator.ts";
import { fileJson } from "./stored-files.ts";

export type Env = { Bindings: { connection: Connection } };

/** The provider's HTTP API, for `/v1`. */
export function apiRoutes(simulator: Simulator): Hono<Env> {
  const { settings, files } = simulator;
  const baseUrl = settings.baseUrl;
  const api = new Hono<Env>();
  const json = (prediction: Prediction) => predictionJson(prediction, baseUrl());
  const find = <Found>(found: Found | undefined): Found => {
    if (found === undefined) throw notFound();
    return found;
  };

  api.use(async (c, next) => {
    if (c.req.header("authorization") !== `Bearer ${settings.token}`) {
      throw new Problem(401, "Unauthenticated", "You did not pass a valid authentication token");
    }
    await next();
  });

  api.get("/webhooks/default/secret", (c) => c.json({ key: settings.webhookSecret }));
  api.get("/models/:owner/:name", (c) =>
    c.json(modelJson(`${c.req.param("owner")}/${c.req.param("name")}`, baseUrl())),
  );

  // Multipart: the file as `content`, JSON as `metadata`.
  api.post("/files", async (c) => {
    const form = await c.req.formData();
    const [content, metadata] = [form.get("content"), form.get("metadata")];
    if (!(content instanceof File)) throw new Problem(400, "Bad request", "Missing content");
    const text = metadata instanceof File ? await metadata.text() : (metadata ?? "{}");
    return c.json(fileJson(await files.create(content, parseJson(text)), baseUrl()), 201);
  });
  api.get("/files/:id", (c) => c.json(fileJson(find(files.get(c.req.param("id"))), baseUrl())));

  api.get("/predictions", (c) => c.json(listPage(simulator.list(), new URL(c.req.url).searchParams, baseUrl())));
  api.get("/predictions/:id", (c) => c.json(json(find(simulator.get(c.req.param("id"))))));
  api.post("/predictions/:id/cancel", async (c) => {
    const prediction = find(simulator.get(c.req.param("id")));
    await simulator.cancel(prediction);
    return c.json(json(prediction));
  });

  const create = async (model: string | null, request: Request, connection: Connection): Promise<Response> => {
    const body = parseCreateRequest(await request.text());
    const cancelAfter = parseCancelAfter(request.headers.get("cancel-after") ?? undefined);
    const created = simulator.create(model ?? modelOfVersion(body.model ?? body.version), body, cancelAfter);
    if (created === "no answer") {
      await connection.closed;
      return new Response(null, { status: 504 });
    }
    if (created.answerLost) {
      connection.drop();
      return new Response(null, { status: 502 });
    }
    return Response.json(json(created), { status: 201 });
  };
  api.post("/predictions", (c) => create(null, c.req.raw, c.env.connection));
  api.post("/models/:owner/:name/predictions", (c) =>
    create(`${c.req.param("owner")}/${c.req.param("name")}`, c.req.raw, c.env.connection),
  );
  return api;
}

/** A model's version id: 64 hex digits, always the same. */
const versionId = (name: string): string => createHash("sha256").update(name).digest("hex");

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

import { Hono } from "hono";
import { filesRoutes } from "./files-routes.ts";
import { parseCancelAfter, parseCreateRequest, parsePreferWait } from "./create-request.ts";
import { listPage } from "./list-page.ts";
import { modelJson, modelOfVersion } from "./model-json.ts";
import { hasEnded, type Prediction, predictionJson } from "./prediction.ts";
import { notFound, Problem, unauthenticated } from "./problem.ts";
import type { Connection } from "./serve-http.ts";
import type { Simulator } from "./simulator.ts";

export type Env = { Bindings: { connection: Connection } };

/** The provider's HTTP API, to be mounted at `/v1`. */
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

  api.get("/account", (c) => c.json({ type: "organization", username: "simulator", name: "Replicate simulator" }));
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

/** Turns what a handler throws into the answer the provider would give. */
export function answerError(error: Error): Response {
  if (error instanceof Problem) return error.toResponse();
  return new Problem(500, "Internal server error", error.message).toResponse();
}

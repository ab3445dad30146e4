import { Hono } from "hono";
import { apiRoutes, type Env } from "./api-routes.ts";
import { controlOf, controlRoutes } from "./control.ts";
import { deliveryRoutes } from "./delivery-routes.ts";
import { randomId, randomWebhookSecret } from "./random.ts";
import { notFound, Problem } from "./requests.ts";
import { serveHttp } from "./serve-http.ts";
import type { SimulatorOptions } from "./settings.ts";
import { Simulator } from "./simulator.ts";

export type RunningSimulator = Awaited<ReturnType<typeof startSimulator>>;

/** Starts the simulator on 127.0.0.1. Rejects when the port is taken. */
export async function startSimulator({ port = 0, ...options }: SimulatorOptions = {}) {
  let url = "";
  const simulator = new Simulator({
    token: `r8_${randomId()}`,
    webhookSecret: randomWebhookSecret(),
    startDelayMs: 0,
    runDelayMs: 0,
    callbackRetryMs: [1000, 5000, 25_000],
    imageWidth: 640,
    fetch,
    ...options,
    baseUrl: () => url,
  });
  const { token, webhookSecret } = simulator.settings;
  const control = controlOf(simulator);
  const app = new Hono<Env>();
  app.route("/v1", apiRoutes(simulator));
  app.route("/control", controlRoutes(control));
  app.route("/", deliveryRoutes(simulator));
  app.notFound(() => notFound().toResponse());
  app.onError((error) =>
    (error instanceof Problem ? error : new Problem(500, "Internal server error", error.message)).toResponse(),
  );

  const server = await serveHttp(async (request, connection) => app.fetch(request, { connection }), port);
  url = `http://127.0.0.1:${server.port}`;
  return {
    /** The server's own URL; the API is at `/v1` below it. */
    url,
    /** The `baseUrl` for the package `replicate`. */
    apiUrl: `${url}/v1`,
    port: server.port,
    token,
    webhookSecret,
    control,
    stop: async () => {
      simulator.stop();
      await server.stop();
    },
  };
}

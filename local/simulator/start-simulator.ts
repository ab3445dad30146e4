import { Hono } from "hono";
import { apiRoutes, type Env } from "./api-routes.ts";
import { controlOf, controlRoutes } from "./control.ts";
import { deliveryRoutes } from "./delivery-routes.ts";
import { randomId, randomWebhookSecret } from "./random.ts";
import { notFound, Problem } from "./requests.ts";
import { serveHttp } from "./serve-http.ts";
import { Simulator } from "./simulator.ts";

export type SimulatorOptions = {
  /** 0, the default, takes any free port. */
  port?: number;
  token?: string;
  webhookSecret?: string;
  /** Milliseconds a prediction stays in `starting`, and runs in addition to the drawing. Both 0 by default. */
  startDelayMs?: number;
  runDelayMs?: number;
  /** Milliseconds before each repetition of a callback that got no 2xx. */
  callbackRetryMs?: readonly number[];
  /** Width of a 16:9 image or video in pixels, 640 by default. */
  imageWidth?: number;
  fetch?: typeof fetch;
};

export type RunningSimulator = Awaited<ReturnType<typeof startSimulator>>;

/** Starts the simulator on 127.0.0.1. Rejects when the port is taken. */
export async function startSimulator(options: SimulatorOptions = {}) {
  let url = "";
  const { token = `r8_${randomId()}`, webhookSecret = randomWebhookSecret() } = options;
  const simulator = new Simulator({
    token,
    webhookSecret,
    delays: { startMs: options.startDelayMs ?? 0, runMs: options.runDelayMs ?? 0 },
    callbackRetryMs: options.callbackRetryMs ?? [1000, 5000, 25_000],
    imageWidth: options.imageWidth ?? 640,
    baseUrl: () => url,
    fetch: options.fetch ?? fetch,
  });
  const control = controlOf(simulator);
  const app = new Hono<Env>();
  app.route("/v1", apiRoutes(simulator));
  app.route("/control", controlRoutes(control));
  app.route("/", deliveryRoutes(simulator));
  app.notFound(() => notFound().toResponse());
  app.onError((error) =>
    (error instanceof Problem ? error : new Problem(500, "Internal server error", error.message)).toResponse(),
  );

  const server = await serveHttp(async (request, connection) => app.fetch(request, { connection }), options.port ?? 0);
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

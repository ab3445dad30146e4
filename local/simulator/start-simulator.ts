import { Hono } from "hono";
import { answerError, apiRoutes, type Env } from "./api-routes.ts";
import { type Control, controlOf } from "./control.ts";
import { controlRoutes } from "./control-routes.ts";
import { deliveryRoutes } from "./delivery-routes.ts";
import { notFound } from "./problem.ts";
import { cryptoBytes, type RandomBytes, randomId, randomWebhookSecret } from "./random-id.ts";
import { type HttpServer, serveHttp } from "./serve-http.ts";
import { SimulatedClock } from "./simulated-clock.ts";
import { Simulator } from "./simulator.ts";

export type SimulatorOptions = {
  /** 0, the default, takes any free port. */
  port?: number;
  token?: string;
  webhookSecret?: string;
  /** Milliseconds a prediction stays in `starting`, and runs besides its own work. Both 0 by default. */
  startDelayMs?: number;
  runDelayMs?: number;
  /** Waits before each further attempt of a callback that got no 2xx. */
  callbackRetryMs?: readonly number[];
  /** The address in the URLs handed out, when it is not `http://127.0.0.1:<port>`. */
  publicUrl?: string;
  outputLifetimeMs?: number;
  /** Width of a 16:9 image: 640 by default, or 1280 for large ones. */
  imageWidth?: number;
  wall?: () => number;
  fetch?: typeof fetch;
  random?: RandomBytes;
};

export type RunningSimulator = {
  /** The server's own address; the API is below it at `/v1`. */
  url: string;
  /** What the `replicate` package takes as `baseUrl`. */
  apiUrl: string;
  port: number;
  token: string;
  webhookSecret: string;
  control: Control;
  stop: () => Promise<void>;
};

/** Starts the simulator on 127.0.0.1. Rejects when the port is taken. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<RunningSimulator> {
  const random = options.random ?? cryptoBytes;
  let url = options.publicUrl?.replace(/\/+$/, "") ?? "";
  const simulator = new Simulator({
    token: options.token ?? `r8_${randomId(random)}`,
    webhookSecret: options.webhookSecret ?? randomWebhookSecret(random),
    delays: { startMs: options.startDelayMs ?? 0, runMs: options.runDelayMs ?? 0 },
    callbackRetryMs: options.callbackRetryMs ?? [1000, 5000, 25_000],
    outputLifetimeMs: options.outputLifetimeMs ?? 3_600_000,
    imageWidth: options.imageWidth ?? 640,
    baseUrl: () => url,
    clock: new SimulatedClock(options.wall),
    fetch: options.fetch ?? fetch,
    random,
  });
  const control = controlOf(simulator);
  const app = new Hono<Env>();
  app.route("/v1", apiRoutes(simulator));
  app.route("/control", controlRoutes(control));
  app.route("/", deliveryRoutes(simulator));
  app.notFound(() => notFound().toResponse());
  app.onError(answerError);

  const server: HttpServer = await serveHttp(async (request, connection) => {
    return app.fetch(request, { connection });
  }, options.port ?? 0);
  const own = `http://127.0.0.1:${server.port}`;
  url ||= own;
  return {
    url: own,
    apiUrl: `${own}/v1`,
    port: server.port,
    token: simulator.settings.token,
    webhookSecret: simulator.settings.webhookSecret,
    control,
    stop: async () => {
      simulator.stop();
      await server.stop();
    },
  };
}

import { Hono } from "hono";
import { z } from "zod";
import { readEnvironment, webhookSecret } from "../../shared/platform/environment.ts";
import { answerError, apiRoutes, type Env } from "./api-routes.ts";
import { controlOf, controlRoutes } from "./control.ts";
import { deliveryRoutes } from "./delivery-routes.ts";
import { randomId, randomWebhookSecret } from "./random.ts";
import { notFound } from "./requests.ts";
import { serveHttp } from "./serve-http.ts";
import { SimulatedClock } from "./simulated-clock.ts";
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
  const simulator = new Simulator({
    token: options.token ?? `r8_${randomId()}`,
    webhookSecret: options.webhookSecret ?? randomWebhookSecret(),
    delays: { startMs: options.startDelayMs ?? 0, runMs: options.runDelayMs ?? 0 },
    callbackRetryMs: options.callbackRetryMs ?? [1000, 5000, 25_000],
    outputLifetimeMs: 3_600_000,
    imageWidth: options.imageWidth ?? 640,
    baseUrl: () => url,
    clock: new SimulatedClock(),
    fetch: options.fetch ?? fetch,
  });
  const control = controlOf(simulator);
  const app = new Hono<Env>();
  app.route("/v1", apiRoutes(simulator));
  app.route("/control", controlRoutes(control));
  app.route("/", deliveryRoutes(simulator));
  app.notFound(() => notFound().toResponse());
  app.onError(answerError);

  const server = await serveHttp(async (request, connection) => app.fetch(request, { connection }), options.port ?? 0);
  url = `http://127.0.0.1:${server.port}`;
  return {
    /** The server's own URL; the API is at `/v1` below it. */
    url,
    /** The `baseUrl` for the package `replicate`. */
    apiUrl: `${url}/v1`,
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

const delay = z.coerce.number().min(0).max(3_600_000);
const schema = z.object({
  SIMULATOR_PORT: z.coerce.number().int().min(0).max(65_535),
  SIMULATOR_TOKEN: z.string().min(1),
  SIMULATOR_WEBHOOK_SECRET: webhookSecret,
  SIMULATOR_START_DELAY_MS: delay.default(0),
  SIMULATOR_RUN_DELAY_MS: delay.default(0),
  SIMULATOR_IMAGE_WIDTH: z.coerce.number().int().min(16).max(1280).optional(),
});

/** Reads the settings from the environment. Throws a one-line error that names the missing or wrong variables. */
export function readSettings(): SimulatorOptions {
  const env = readEnvironment(schema, (name) => Deno.env.get(name));
  return {
    port: env.SIMULATOR_PORT,
    token: env.SIMULATOR_TOKEN,
    webhookSecret: env.SIMULATOR_WEBHOOK_SECRET,
    startDelayMs: env.SIMULATOR_START_DELAY_MS,
    runDelayMs: env.SIMULATOR_RUN_DELAY_MS,
    ...(env.SIMULATOR_IMAGE_WIDTH ? { imageWidth: env.SIMULATOR_IMAGE_WIDTH } : {}),
  };
}

import { Hono } from "hono";
import { z } from "zod";
import { answerError, apiRoutes, type Env } from "./api-routes.ts";
import { type Control, controlOf, controlRoutes } from "./control.ts";
import { deliveryRoutes } from "./delivery-routes.ts";
import { cryptoBytes, type RandomBytes, randomId, randomWebhookSecret } from "./random.ts";
import { notFound } from "./requests.ts";
import { type HttpServer, serveHttp } from "./serve-http.ts";
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
  /** The base of URLs in responses, when it is not `http://127.0.0.1:<port>`. */
  publicUrl?: string;
  outputLifetimeMs?: number;
  /** Width of a 16:9 image or video in pixels, 640 by default. */
  imageWidth?: number;
  wall?: () => number;
  fetch?: typeof fetch;
  random?: RandomBytes;
};

export type RunningSimulator = {
  /** The server's own URL; the API is at `/v1` below it. */
  url: string;
  /** The `baseUrl` for the package `replicate`. */
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

const delay = z.coerce.number().min(0).max(3_600_000);
const list = z
  .string()
  .transform((text) => (text.trim() === "" ? [] : text.split(",").map(Number)))
  .pipe(z.array(z.number().min(0)));

const schema = z.object({
  SIMULATOR_PORT: z.coerce.number().int().min(0).max(65_535),
  SIMULATOR_TOKEN: z.string().min(1),
  SIMULATOR_WEBHOOK_SECRET: z.string().regex(/^whsec_[A-Za-z0-9+/]+=*$/),
  SIMULATOR_START_DELAY_MS: delay.default(0),
  SIMULATOR_RUN_DELAY_MS: delay.default(0),
  SIMULATOR_CALLBACK_RETRY_MS: list.optional(),
  SIMULATOR_OUTPUT_LIFETIME_MS: z.coerce.number().min(1).optional(),
  SIMULATOR_IMAGE_WIDTH: z.coerce.number().int().min(16).max(1280).optional(),
  SIMULATOR_PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional(),
});

/** Reads the settings from the environment. Throws a one-line error that names the missing or invalid variables. */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): SimulatorOptions {
  const parsed = schema.safeParse(environment);
  if (!parsed.success) {
    const wrong = parsed.error.issues.map(({ path, message }) => `${path.join(".")} (${message})`);
    throw new Error(`the simulator's environment is missing or wrong: ${wrong.join(", ")}`);
  }
  const env = parsed.data;
  return {
    port: env.SIMULATOR_PORT,
    token: env.SIMULATOR_TOKEN,
    webhookSecret: env.SIMULATOR_WEBHOOK_SECRET,
    startDelayMs: env.SIMULATOR_START_DELAY_MS,
    runDelayMs: env.SIMULATOR_RUN_DELAY_MS,
    ...(env.SIMULATOR_CALLBACK_RETRY_MS ? { callbackRetryMs: env.SIMULATOR_CALLBACK_RETRY_MS } : {}),
    ...(env.SIMULATOR_OUTPUT_LIFETIME_MS ? { outputLifetimeMs: env.SIMULATOR_OUTPUT_LIFETIME_MS } : {}),
    ...(env.SIMULATOR_IMAGE_WIDTH ? { imageWidth: env.SIMULATOR_IMAGE_WIDTH } : {}),
    ...(env.SIMULATOR_PUBLIC_URL ? { publicUrl: env.SIMULATOR_PUBLIC_URL } : {}),
  };
}

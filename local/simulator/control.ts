import { Hono } from "hono";
import { z } from "zod";
import type { Env } from "./api-routes.ts";
import { FAULT_NAMES } from "./faults.ts";
import { parseJson, Problem } from "./requests.ts";
import type { Simulator } from "./simulator.ts";

const faultSchema = z.strictObject({
  fault: z.enum(FAULT_NAMES),
  times: z.int().min(1).default(1),
  value: z.coerce.string().optional(),
  model: z.string().optional(),
});
const milliseconds = z.number().min(0).max(3_600_000).optional();
const delaysSchema = z.strictObject({ start_ms: milliseconds, run_ms: milliseconds });
const advanceSchema = z.strictObject({ seconds: z.number().min(0) });

/** How tests control the simulator, directly or over HTTP under `/control`. */
export function controlOf(simulator: Simulator) {
  const { faults, settings } = simulator;
  return {
    /** Applies a fault to the next `times` creates, of `model` only when given. */
    arm: (fault: z.input<typeof faultSchema>) => faults.arm(faultSchema.parse(fault)),
    /** Removes all armed faults and resets the counts of directives. */
    clear: () => faults.clear(),
    /** Sets the delays of later runs, in milliseconds. */
    delays: ({ start_ms, run_ms }: z.infer<typeof delaysSchema>) => {
      settings.startDelayMs = start_ms ?? settings.startDelayMs;
      settings.runDelayMs = run_ms ?? settings.runDelayMs;
    },
    /** Moves the clock forward, with all that becomes due: expiry, deadlines, delays and retries. */
    advance: (seconds: number) => simulator.clock.advance(seconds * 1000),
    state: () => simulator.state(),
    /** Keeps a file for the fault output_file. */
    giveFile: (name: string, bytes: Uint8Array) => void simulator.givenFiles.set(name, bytes),
    /** Every prediction, the newest first, with what the API does not show. */
    made: () =>
      simulator.list().map(({ id, status, input, webhook, answerLost, cancelRequested, callbackAccepted }) => ({
        id,
        status,
        input,
        webhook,
        answer_lost: answerLost,
        cancel_requested: cancelRequested,
        callback_accepted: callbackAccepted,
      })),
    /** The bill of each ended run, the oldest first, and the prediction that it was for, by the address of its callbacks. */
    account: () =>
      simulator
        .list()
        .filter(({ endedAt }) => endedAt !== null)
        .map(({ id, model, status, micros, webhook }) => {
          return {
            id,
            model,
            status,
            prediction: URL.parse(webhook ?? "")?.searchParams.get("prediction") ?? null,
            micros,
          };
        })
        .reverse(),
  };
}

/**
 * The control over HTTP, for `/control`. It needs no token, because the server listens on loopback and has only simulated
 * predictions.
 */
export function controlRoutes(control: ReturnType<typeof controlOf>): Hono<Env> {
  const routes = new Hono<Env>();
  const change = <Schema extends z.ZodType>(path: string, schema: Schema, apply: (body: z.infer<Schema>) => void) =>
    routes.post(path, async (c) => {
      const parsed = schema.safeParse(parseJson(await c.req.text()));
      if (!parsed.success) throw new Problem(400, "Bad request", z.prettifyError(parsed.error));
      apply(parsed.data);
      return c.json(control.state());
    });
  change("/faults", faultSchema, control.arm);
  change("/delays", delaysSchema, control.delays);
  change("/advance", advanceSchema, ({ seconds }) => control.advance(seconds));
  routes.put("/files/:name", async (c) => {
    control.giveFile(c.req.param("name"), new Uint8Array(await c.req.arrayBuffer()));
    return c.body(null, 204);
  });
  routes.delete("/faults", (c) => {
    control.clear();
    return c.json(control.state());
  });
  routes.get("/state", (c) => c.json(control.state()));
  routes.get("/predictions", (c) => c.json(control.made()));
  routes.get("/account", (c) => c.json(control.account()));
  return routes;
}

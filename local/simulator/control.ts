import { Hono } from "hono";
import { z } from "zod";
import { jsonText } from "../../shared/platform/environment.ts";
import type { Env } from "./api-routes.ts";
import { type ArmedFault, faultNames } from "./faults.ts";
import { Problem } from "./requests.ts";
import type { Simulator } from "./simulator.ts";

/** How tests control the simulator, directly or over HTTP under `/control`. */
export function controlOf(simulator: Simulator) {
  const { faults, settings } = simulator;
  return {
    /** Applies a fault to the next `times` creates, of `model` only when given. */
    arm: ({ times = 1, ...fault }: Omit<ArmedFault, "times"> & { times?: number }) => faults.arm({ ...fault, times }),
    /** Removes all armed faults and resets the counts of directives. */
    clear: () => faults.clear(),
    /** In milliseconds, for runs from now on. */
    delays: ({ start_ms, run_ms }: z.infer<typeof delaysSchema>) => {
      settings.delays.startMs = start_ms ?? settings.delays.startMs;
      settings.delays.runMs = run_ms ?? settings.delays.runMs;
    },
    /** Moves the clock forward, with all that becomes due: expiry, deadlines, delays and retries. */
    advance: (seconds: number) => {
      settings.clock.advance(seconds * 1000);
      simulator.sweep();
    },
    state: () => simulator.state(),
    /** Every prediction, the newest first, with its input and whether it was to be canceled. */
    made: () => simulator.made(),
    /** What each run that has ended was billed, the oldest first. */
    account: () => simulator.account.entries,
  };
}

type Control = ReturnType<typeof controlOf>;

const faultSchema = z.strictObject({
  fault: z.enum(faultNames),
  times: z.int().min(1).default(1),
  value: z.coerce.string().optional(),
  model: z.string().optional(),
});
const milliseconds = z.number().min(0).max(3_600_000).optional();
const delaysSchema = z.strictObject({ start_ms: milliseconds, run_ms: milliseconds });
const advanceSchema = z.strictObject({ seconds: z.number().min(0) });

/**
 * The control over HTTP, for `/control`. It needs no token, because the server listens on loopback and has only simulated
 * predictions.
 */
export function controlRoutes(control: Control): Hono<Env> {
  const routes = new Hono<Env>();
  routes.post("/faults", async (c) => {
    control.arm(parse(faultSchema, await c.req.text()));
    return c.json(control.state());
  });
  routes.delete("/faults", (c) => {
    control.clear();
    return c.json(control.state());
  });
  routes.post("/delays", async (c) => {
    control.delays(parse(delaysSchema, await c.req.text()));
    return c.json(control.state());
  });
  routes.post("/advance", async (c) => {
    control.advance(parse(advanceSchema, await c.req.text()).seconds);
    return c.json(control.state());
  });
  routes.get("/state", (c) => c.json(control.state()));
  routes.get("/predictions", (c) => c.json(control.made()));
  routes.get("/account", (c) => c.json(control.account()));
  return routes;
}

function parse<Schema extends z.ZodType>(schema: Schema, text: string): z.infer<Schema> {
  const parsed = jsonText.pipe(schema).safeParse(text);
  if (parsed.success) return parsed.data;
  throw new Problem(400, "Bad request", z.prettifyError(parsed.error));
}

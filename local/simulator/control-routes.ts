import { Hono } from "hono";
import { z } from "zod";
import type { Env } from "./api-routes.ts";
import type { Control } from "./control.ts";
import { faultNames } from "./faults.ts";
import { Problem } from "./problem.ts";

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
 * Faults, delays, the clock and counts over HTTP, to be mounted at `/control`. It asks for no token: the server listens on
 * loopback alone, and there is nothing here but made-up predictions.
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
    const { start_ms, run_ms } = parse(delaysSchema, await c.req.text());
    control.delays({
      ...(start_ms === undefined ? {} : { startMs: start_ms }),
      ...(run_ms === undefined ? {} : { runMs: run_ms }),
    });
    return c.json(control.state());
  });
  routes.post("/advance", async (c) => {
    control.advance(parse(advanceSchema, await c.req.text()).seconds);
    return c.json(control.state());
  });
  routes.get("/state", (c) => c.json(control.state()));
  routes.get("/predictions", (c) => c.json(control.made()));
  return routes;
}

function parse<Schema extends z.ZodType>(schema: Schema, text: string): z.infer<Schema> {
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw new Problem(400, "Bad request", error instanceof z.ZodError ? z.prettifyError(error) : "invalid JSON");
  }
}

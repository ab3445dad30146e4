import { z } from "zod";
import { eventTypes } from "./prediction.ts";
import { invalidInput, Problem } from "./problem.ts";

const schema = z.object({
  model: z.string().optional(),
  version: z.string().optional(),
  input: z.record(z.string(), z.unknown()),
  webhook: z.url({ protocol: /^https?$/ }).optional(),
  webhook_events_filter: z.array(z.enum(eventTypes)).optional(),
});

export type CreateRequest = z.infer<typeof schema>;

/** Parses the body of a create; throws the 400 or 422 the provider would answer. */
export function parseCreateRequest(text: string): CreateRequest {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Problem(400, "Bad request", "The request body is not valid JSON.");
  }
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map(({ path, message, code }) => {
    return { type: code, field: path.join(".") || "body", description: message };
  });
  throw invalidInput(fields);
}

/** Milliseconds of a `Cancel-After` header: seconds ("90") or units ("45s", "10m", "1h30m"); at least 5 s. Null when absent. */
export function parseCancelAfter(header: string | undefined): number | null {
  if (header === undefined) return null;
  const [, hours, minutes, seconds, plain] = /^(?:(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?|(\d+))$/.exec(header.trim()) ?? [];
  const total = Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0) + Number(plain ?? 0);
  if (total >= 5 && total <= 24 * 3600) return total * 1000;
  throw new Problem(
    400,
    "Bad request",
    "Cancel-After must be a duration from 5 seconds to 24 hours, such as 30s or 10m.",
  );
}

/** Milliseconds of a `Prefer: wait` or `wait=N` header (1 to 60 s, 60 when no number is given). Null when absent. */
export function parsePreferWait(header: string | undefined): number | null {
  const [found, seconds] = /\bwait(?:=(\d+))?/.exec(header ?? "") ?? [];
  if (found === undefined) return null;
  return Math.max(1, Math.min(60, Number(seconds ?? 60))) * 1000;
}

import { z } from "zod";
import { invalidFields, invalidRequest, issueSentence } from "./invalid-request.ts";

/** For paths that take no query string. */
export const noQuery = z.strictObject({});

/** What functions.invoke of supabase-js adds when it is told a region. It is for the platform, which passes it on. */
const OF_THE_PLATFORM = "forceFunctionRegion";

/** Parses the query string. Throws invalid_request for a parameter that is unknown, repeated or does not fit. */
export function readQuery<Output>(url: URL, schema: z.ZodType<Output>): Output {
  const given = new Map<string, string>();
  const repeated = new Set<string>();
  for (const [name, value] of url.searchParams) {
    if (name === OF_THE_PLATFORM) continue;
    if (given.has(name)) repeated.add(name);
    given.set(name, value);
  }
  if (repeated.size > 0) throw invalidFields([...repeated].map((path) => ({ path, message: "Must be given once." })));
  const parsed = schema.safeParse(Object.fromEntries(given), { error: issueSentence });
  if (!parsed.success) throw invalidRequest(parsed.error);
  return parsed.data;
}

import { z } from "zod";
import { invalidFields, invalidRequest, issueSentence } from "./invalid-request.ts";

/** For paths that take no query string. */
export const noQuery = z.strictObject({});

/** What functions.invoke of supabase-js adds when it is told a region. It is for the platform, which passes it on. */
const OF_THE_PLATFORM = "forceFunctionRegion";

/** Parses the query string. Throws invalid_request for a parameter that is unknown, repeated or does not fit. */
export function readQuery<Output>(url: URL, schema: z.ZodType<Output>): Output {
  url.searchParams.delete(OF_THE_PLATFORM);
  const names = new Set<string>();
  const repeated = new Set<string>();
  for (const name of url.searchParams.keys()) (names.has(name) ? repeated : names).add(name);
  if (repeated.size > 0) throw invalidFields([...repeated].map((path) => ({ path, message: "Must be given once." })));
  const parsed = schema.safeParse(Object.fromEntries(url.searchParams), { error: issueSentence });
  if (!parsed.success) throw invalidRequest(parsed.error);
  return parsed.data;
}

import type { z } from "zod";
import { databaseError } from "./database-error.ts";
import type { PlatformClient } from "./platform-client.ts";

/** The names of SQL functions that change nothing but what their caller may still ask for (the rate limit). */
const READS = /^(read|list)_/;

/**
 * Calls one SQL function as the holder of `token` (null: anonymous) and parses its answer. The one round trip of a request.
 * A secret key (sb_secret_…) as `token` makes the service role the caller.
 * Arguments that are undefined take the SQL function's default. Throws ApiError; an answer of another shape is a plain Error.
 */
export type Database = <Answer>(
  name: string,
  args: Record<string, unknown>,
  token: string | null,
  answer: z.ZodType<Answer>,
) => Promise<Answer>;

export function createDatabase({ database, reads }: PlatformClient): Database {
  return async (name, args, token, answer) => {
    const call = (READS.test(name) ? reads : database).rpc(name, args);
    if (token !== null) call.setHeader("authorization", `Bearer ${token}`);
    // A key is no JWT: the platform takes it as Authorization only where apikey says the same.
    if (token?.startsWith("sb_secret_")) call.setHeader("apikey", token);
    const { data, error, status } = await call;
    if (error) throw databaseError(name, { status, ...error });
    const parsed = answer.safeParse(data);
    if (parsed.success) return parsed.data;
    const places = parsed.error.issues.map(({ path, code }) => `${path.join(".")} (${code})`);
    throw new Error(`The SQL function ${name} answered in another shape: ${places.join(", ")}`);
  };
}

import { z } from "zod";
import { pause, retry } from "../../platform/retry.ts";
import type { Caller } from "../auth/verify-session.ts";
import { createBoundedCache } from "../bounded-cache.ts";
import { createCallTurns } from "./call-turns.ts";
import { databaseError, RateLimited } from "./database-error.ts";
import { type DatabaseClient, type PlatformClient, setCredential } from "./platform-client.ts";

/** The caller's token bucket, from keyframe_private.rate_state; null for a class without a limit. */
const rateState = z
  .object({
    policy: z.string(),
    limit: z.int(),
    remaining: z.int(),
    reset_seconds: z.int(),
    window_seconds: z.int(),
  })
  .nullable();

/** What every SQL function returns with its rows. `replayed` is set where an Idempotency-Key is accepted. */
export const answerBase = z.object({ rate: rateState, replayed: z.boolean().optional() });
export type AnswerBase = z.infer<typeof answerBase>;

/**
 * Calls one SQL function as the caller and parses its answer, in the one round trip of a request. Without a token the call is anonymous. With
 * the project's secret key it calls as the service role. For a server that acts for a user, and for a key, Postgres calls as that user.
 * Undefined arguments use the SQL function's default. The functions of keyframe_worker need the secret key.
 * `turnsOf`: whose calls it queues with: by default the caller's owner; null: no queue.
 * Throws ApiError, and a plain Error for an answer of another shape.
 */
type CallFunction = <Answer>(
  name: string,
  args: Record<string, unknown>,
  caller: Caller,
  answer: z.ZodType<Answer>,
  schema?: "keyframe" | "keyframe_worker",
  turnsOf?: string | null,
) => Promise<Answer>;

/** `read` calls functions that change only the caller's rate limit, so it is repeated when the connection breaks. */
export type Database = { call: CallFunction; read: CallFunction };

/** Delays between attempts when the owner has too many calls in the database. Attempts end after 1.5 seconds. */
const BACKOFF = { minDelayMs: 50, maxDelayMs: 800, maxAttempts: 6 };

/**
 * After a call was refused for its rate, further calls of the same function are refused here until a token is available, for a second at
 * most.
 */
const MAX_REFUSED_MS = 1_000;
const MAX_REFUSED = 10_000;

export function createDatabase(
  { database, reads }: PlatformClient,
  { sleep = pause, elapsed = () => performance.now() } = {},
): Database {
  const acquireTurn = createCallTurns();
  const refusals = createBoundedCache<{ error: RateLimited; until: number }>(
    MAX_REFUSED,
    ({ until }) => until > elapsed(),
  );
  const callWith =
    (client: DatabaseClient): CallFunction =>
    async (name, args, { ownerId, token, clientId, by }, answer, schema = "keyframe", turnsOf = ownerId) => {
      const call = async () => {
        const key_id = by === "key" ? clientId : undefined;
        const called = by
          ? client.schema("keyframe_worker").rpc("act_as", { user_id: ownerId, function_name: name, args, key_id })
          : client.schema(schema).rpc(name, args);
        const { data, error, status } = await setCredential(called, token);
        if (error) throw databaseError(name, { status, ...error });
        return data as unknown; // the client's types say any
      };
      const { idempotency_key, waiting } = args;
      // A keyed call may be a replay, charged to another rate class; without an owner the bucket is a link's. Cache neither.
      const isRemembered = ownerId !== null && idempotency_key === undefined;
      const key = `${ownerId} ${name} ${waiting === true}`;
      const data = await acquireTurn(turnsOf, async () => {
        const refused = isRemembered ? refusals.get(key) : undefined;
        if (refused) throw refused.error;
        try {
          return await retry(call, { ...BACKOFF, isRetriable: isForCalls, sleep });
        } catch (error) {
          if (error instanceof RateLimited && !error.isForCalls())
            refusals.set(key, { error, until: elapsed() + Math.min(error.msUntilToken(), MAX_REFUSED_MS) });
          throw error;
        }
      });
      const parsed = answer.safeParse(data);
      if (parsed.success) return parsed.data;
      const issues = parsed.error.issues.map(({ path, code }) => `${path.join(".")} (${code})`);
      throw new Error(`The SQL function ${name} answered in another shape: ${issues.join(", ")}`);
    };
  return { call: callWith(database), read: callWith(reads) };
}

const isForCalls = (error: unknown) => error instanceof RateLimited && error.isForCalls();

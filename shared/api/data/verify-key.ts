import { z } from "zod";
import { ApiError, type ErrorCode } from "../../http/errors.ts";
import type { Caller, SessionVerifier, Verifier } from "../auth/verify-session.ts";
import { createBoundedCache } from "../bounded-cache.ts";
import { sha256 } from "../sha256.ts";
import { answerBase, type Database } from "./database.ts";

/** kf_, 16 digits that name the key, 48 of its secret, and the first 8 of the SHA-256 of what stands before them. */
const FORM = /^(kf_[0-9a-f]{16})[0-9a-f]{48}[0-9a-f]{8}$/;
const CHECKSUM_DIGITS = 8;

const verified = answerBase.extend({ owner_id: z.string() });

/** How long a good key is not looked up again. Each call of the database asks all the same whether it has ended (act_as). */
const KNOWN_MS = 60_000;
const MAX_KNOWN = 1000;
/** Wrong keys of one address in a minute. More are refused without a look. */
const MAX_WRONG = 20;
const MINUTE_MS = 60_000;
const MAX_ADDRESSES = 1000;
/** What Postgres says of a key that opens nothing. */
const OF_THE_KEY: ErrorCode[] = ["unauthorized", "key_ended", "user_not_found"];

type Settings = {
  database: Database;
  verifySession: SessionVerifier;
  secretKey: string;
  elapsed: () => number;
};

/**
 * Authenticates a user by session, or by a key of theirs. Throws unauthorized, key_ended, rate_limited.
 *
 * Keys this process has verified queue per owner; unknown keys share one queue, so guesses delay only each other and first uses. The whole
 * X-Forwarded-For value counts as the address, so nobody can use up another's allowance. The key itself is not passed on.
 */
export function createUserVerifier({ database, verifySession, secretKey, elapsed }: Settings): Verifier {
  const known = createBoundedCache<{ caller: Caller; until: number }>(MAX_KNOWN, () => true);
  /** Keys that have ended, or whose user cannot sign in. They do not count as guesses, and are not looked up again for a minute. */
  const ended = createBoundedCache<{ error: ApiError; until: number }>(MAX_KNOWN, ({ until }) => until > elapsed());
  const project: Caller = { ownerId: null, token: secretKey };
  const wrong = createBoundedCache<{ count: number; until: number }>(MAX_ADDRESSES, ({ until }) => until > elapsed());

  async function verifyKey(key: string, address: string): Promise<Caller> {
    const [, keyId] = FORM.exec(key) ?? [];
    if (keyId === undefined || !(await hasItsChecksum(key))) {
      throw notAKey("The key is incomplete or mistyped: it is kf_ and 72 characters from 0 to 9 and a to f.");
    }
    const hash = await sha256(key);
    const kept = known.get(hash);
    if (kept !== undefined && kept.until > elapsed()) return kept.caller;
    const end = ended.get(hash);
    if (end !== undefined) throw end.error;
    const before = wrong.get(address) ?? { count: 0, until: elapsed() + MINUTE_MS };
    if (kept === undefined && before.count >= MAX_WRONG) throw tooManyGuesses(before.until - elapsed());
    const turnsOf = kept ? `keys of ${kept.caller.ownerId}` : "unknown keys";
    const args = { key_id: keyId, key_hash: hash };
    const { owner_id: ownerId } = await database
      .read("verify_key", args, project, verified, "keyframe_worker", turnsOf)
      .catch((error: unknown) => {
        if (!(error instanceof ApiError && OF_THE_KEY.includes(error.code))) throw error;
        known.forget(hash); // one that has ended must not delay the others
        if (error.code !== "unauthorized") {
          ended.set(hash, { error, until: elapsed() + KNOWN_MS });
          throw error;
        }
        const { count, until } = wrong.get(address) ?? before;
        wrong.set(address, { count: count + 1, until });
        throw notAKey("The key is not valid.");
      });
    const caller: Caller = { ownerId, token: secretKey, clientId: keyId, by: "key" };
    known.set(hash, { caller, until: elapsed() + KNOWN_MS });
    return caller;
  }

  return async (headers) => {
    const authorization = headers.get("authorization");
    const [, key] = /^Bearer +(kf_[\x21-\x7e]*)$/i.exec(authorization ?? "") ?? [];
    if (key !== undefined) return await verifyKey(key, addressOf(headers));
    if (authorization === null && headers.get("apikey")?.startsWith("kf_"))
      throw notAKey("A key does not belong in apikey.");
    return await verifySession(authorization);
  };
}

const hasItsChecksum = async (key: string) =>
  (await sha256(key.slice(0, -CHECKSUM_DIGITS))).startsWith(key.slice(-CHECKSUM_DIGITS));

const MAX_ADDRESS_CHARACTERS = 200;
const addressOf = (headers: Headers) => (headers.get("x-forwarded-for") ?? "").slice(0, MAX_ADDRESS_CHARACTERS);

const notAKey = (sentence: string) =>
  new ApiError(
    "unauthorized",
    `${sentence} Make one in the dashboard under Keys, and send it as Authorization: Bearer <key>.`,
  );

const tooManyGuesses = (ms: number) =>
  new ApiError("rate_limited", "Too many wrong keys came from this address. Wait for the time in Retry-After.", {
    headers: { "Retry-After": String(Math.max(1, Math.ceil(ms / 1000))) },
  });

import { within } from "../bounded-wait.ts";
import { log } from "./log.ts";
import { EXPOSED_SCHEMAS, isExposed, type LiteOptions, openPool, type Pool } from "./open-pool.ts";
import { DatabaseUnavailable, type RestRequest, requested } from "./platform-connection.ts";
import type { RestFunction } from "./rest/function-call.ts";

/** @supabase/lite on a pool that is replaced after a lost connection, as soon as Postgres answers again. */
export type Lite = ReturnType<typeof createLite>;

const PING_MS = 2_000;
const CLOSE_SECONDS = 10;
/** The time limit of a request to Auth or REST: 10 s for a connection, 8 s for its statement. */
const REQUEST_MS = 20_000;

/** Each function of lite throws DatabaseUnavailable when Postgres is down. */
export function createLite(options: LiteOptions) {
  let pool = openPool(options);
  let replacing: Promise<void> | undefined;

  // postgres.js keeps what it queued while Postgres was away: abandoned reservations would hold its connections for good.
  // A new pool has none of them.
  async function replace(): Promise<void> {
    const next = openPool(options);
    if (!(await answers(next))) {
      void next.end(0);
      throw new DatabaseUnavailable("Postgres does not answer");
    }
    const former = pool;
    pool = next;
    log("info", "connected to Postgres again");
    void former.end(CLOSE_SECONDS);
  }

  async function usablePool(): Promise<Pool> {
    if (pool.lost.aborted) {
      replacing ??= replace().finally(() => {
        replacing = undefined;
      });
      await replacing;
    }
    return pool;
  }

  async function query<Answer>(ask: (sql: Pool["connection"]["driver"]) => PromiseLike<Answer>): Promise<Answer> {
    const used = await usablePool();
    try {
      return await ask(used.connection.driver);
    } catch (error) {
      throw used.lost.aborted ? new DatabaseUnavailable("Postgres went away") : error;
    }
  }

  return {
    async fetch(request: Request, rest?: RestRequest): Promise<Response> {
      const used = await usablePool();
      const { method, url } = request;
      const service = /\/(rest|storage|auth)\/v1/.exec(url)?.[1];
      const response = await withDeadline(
        (signal) =>
          requested.run(
            { method, service, ...(rest ? { rest: { ...rest, signal } } : {}) },
            async () => await used.app.fetch(request, { peerAddress: null }),
          ),
        request.signal,
        service === "storage" ? null : REQUEST_MS,
      );
      if (response.status >= 500 && response.status !== 504 && (used.lost.aborted || !(await answers(used)))) {
        await response.body?.cancel();
        throw new DatabaseUnavailable("Postgres went away");
      }
      return response;
    },
    /** Calls a function of the Data API. */
    async call(text: string, body: string, about: Parameters<Pool["connection"]["call"]>[2], rest: RestRequest) {
      const used = await usablePool();
      const call = (signal: AbortSignal) =>
        requested.run({ method: about.method, service: "rest", rest: { ...rest, signal } }, () =>
          used.connection.call(text, body, about),
        );
      try {
        return await withDeadline(call, rest.signal, REQUEST_MS);
      } catch (error) {
        throw used.lost.aborted ? new DatabaseUnavailable("Postgres went away") : error;
      }
    },
    /** The functions of this name; none where the schema is not exposed. */
    async functions(schema: string, name: string): Promise<RestFunction[]> {
      return isExposed(schema) ? await (await usablePool()).connection.functions(schema, name) : [];
    },
    async hasRole(name: string): Promise<boolean> {
      const rows = await query((sql) => sql`select from pg_roles where rolname = ${name}`);
      return rows.length > 0;
    },
    /** Whether every exposed schema exists. PostgREST cannot read its schema cache while one does not. */
    async hasExposedSchemas(): Promise<boolean> {
      const { exposed } = await usablePool();
      exposed.exist ??= query((sql) => sql`select from pg_namespace where nspname = any (${EXPOSED_SCHEMAS})`).then(
        (found) => found.length === EXPOSED_SCHEMAS.length,
      );
      const exist = await exposed.exist.catch((error) => {
        exposed.exist = undefined;
        throw error;
      });
      if (!exist) exposed.exist = undefined;
      return exist;
    },
    async isBanned(userId: string): Promise<boolean> {
      const rows = await query(
        (sql) => sql`select from auth.users where id::text = ${userId} and banned_until > now()`,
      );
      return rows.length > 0;
    },
    /** Ends all sessions of the same user but this one. */
    async endOtherSessions(sessionId: string): Promise<void> {
      await query(
        (sql) => sql`
          delete from auth.sessions other using auth.sessions own
          where own.id::text = ${sessionId} and other.user_id = own.user_id and other.id <> own.id`,
      );
    },
    /** The bucket's limit in bytes; null when it has none or does not exist. */
    async fileSizeLimit(bucket: string): Promise<number | null> {
      const [row] = await query(
        (sql) => sql<{ bytes: number | bigint | null }[]>`
          select file_size_limit as bytes from storage.buckets where id = ${bucket}`,
      );
      return row?.bytes == null ? null : Number(row.bytes);
    },
    close: () => pool.end(1),
  };
}

async function answers(pool: Pool): Promise<boolean> {
  const query = pool.connection.driver`select 1`.then(
    () => true,
    () => false,
  );
  return await within(query, PING_MS, () => false);
}

/** Every request but one to Storage ends, even if the driver never answers. */
async function withDeadline<Answer>(
  ask: (signal: AbortSignal) => Promise<Answer>,
  left: AbortSignal,
  ms: number | null,
): Promise<Answer> {
  if (ms === null) return await ask(left);
  const late = new AbortController();
  return await within(ask(AbortSignal.any([left, late.signal])), ms, () => {
    late.abort();
    throw new DatabaseUnavailable("no answer in time");
  });
}

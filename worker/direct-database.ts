import pg from "pg";
import { type CallDatabase, DatabaseError } from "../shared/platform/call-database.ts";

/** `statementMs`: the Data API's limit for the same calls. `timeoutMs`: for the answer to each statement. */
type Settings = { url: URL; connections: number; statementMs: number; timeoutMs: number };

const LIFETIME_SECONDS = 3_600;

/** Below the minutes after which networks silently drop idle connections. The default is two hours. */
const KEEP_ALIVE_MS = 60_000;

/** The role that the Data API uses for the secret key. The URL's login must be a member of it. */
const ROLE = "service_role";

// pg and not postgres.js: a lost connection rejects only its own calls (docs/decisions/0042-worker-processes.md).

/**
 * Calls the database over its own connections instead of the Data API. Each call is one transaction, as with PostgREST. Role
 * and time limit are set for that transaction only, and no statement is prepared, because a pooler in transaction mode may be in between.
 * Connects at the first call, and again after a lost connection.
 */
export function createDirectDatabase({ url, connections, statementMs, timeoutMs }: Settings) {
  const pool = new pg.Pool({
    ...readUrl(url),
    application_name: "keyframe-worker",
    max: connections,
    // A new session compiles our functions again, so connections are kept, but not forever.
    idleTimeoutMillis: 0,
    maxLifetimeSeconds: LIFETIME_SECONDS,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  });
  // A lost connection, idle or in a call, must not end the process: its call rejects, and the next call connects again.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => void client.on("error", () => undefined));

  /** If a pooler or Postgres has just closed an idle connection, begins on another: nothing was done yet. */
  async function begin(mayTryAgain = true): Promise<pg.PoolClient> {
    const client = await pool.connect();
    try {
      // A machine that disappears would keep its last call's locks for as long as TCP waits, by default hours.
      const limits = `set local statement_timeout = ${statementMs}; set local idle_in_transaction_session_timeout = ${statementMs}`;
      await client.query(`begin; set local role ${ROLE}; ${limits}`);
      return client;
    } catch (error) {
      client.release(true);
      if (!mayTryAgain || isTimeout(error)) throw error;
      return await begin(false);
    }
  }

  async function run(called: string, args: Record<string, unknown>): Promise<unknown> {
    const given = Object.entries(args).filter(([, value]) => value !== undefined);
    const named = given.map(([name], index) => `${name} => $${index + 1}`).join(", ");
    const text = `select to_json(answer) from keyframe_worker.${called}(${named}) answer`;
    const values = given.map(([, value]) => toParameter(value));
    const client = await begin();
    try {
      const { rows } = await client.query<[unknown]>({ text, values, rowMode: "array" });
      await client.query("commit");
      client.release();
      return rows[0]?.[0];
    } catch (error) {
      // Without an answer the state of the connection is unknown: it is closed.
      const isUsable =
        error instanceof pg.DatabaseError &&
        (await client.query("rollback").then(
          () => true,
          () => false,
        ));
      client.release(!isUsable);
      throw error;
    }
  }

  const call: CallDatabase = (called, args) =>
    run(called, args).catch((error: unknown) => {
      throw toDatabaseError(called, error);
    });
  return { call, end: () => pool.end() };
}

/** The driver's timeout, after timeoutMs. It is not tried again, which would take as long. direct-database.test.ts pins the message. */
const isTimeout = (error: unknown) => error instanceof Error && error.message === "Query read timeout";

/** A parameter as text, which Postgres converts to the type that the function declares. Objects become JSON. */
function toParameter(value: unknown): string | null {
  if (value === null) return null;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/**
 * Keeps only the SQLSTATE, because messages of Postgres may contain row data. An error without one is the driver's, such as a refused
 * connection. PgBouncer reports every error of its own under one SQLSTATE, as FATAL; errors raised by functions are never FATAL.
 */
function toDatabaseError(called: string, error: unknown): DatabaseError {
  if (!(error instanceof pg.DatabaseError)) return new DatabaseError(called, null, "", reasonOf(error));
  if (error.code === "08P01" && error.severity === "FATAL")
    return new DatabaseError(called, null, error.code, error.message);
  // Raised inside a function, it is an error of that function or of an app's trigger: the called function exists.
  const isInside = error.position === undefined && error.code === "42883";
  return new DatabaseError(called, null, isInside ? "XX000" : (error.code ?? "XX000"));
}

const reasonOf = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException; // the driver throws only errors
  return code ?? message;
};

type Tls = false | { rejectUnauthorized: boolean };
const TLS = new Map<string, Tls>([
  ["disable", false],
  ["require", { rejectUnauthorized: false }],
  ["verify-full", { rejectUnauthorized: true }],
]);
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/;

/** Throws a sentence without the URL, which has a password. */
export function readUrl(url: URL) {
  const mode = url.searchParams.get("sslmode") ?? (LOOPBACK.test(url.hostname) ? "disable" : "require");
  const ssl = TLS.get(mode);
  if (ssl === undefined) throw new Error(`its sslmode must be ${[...TLS.keys()].join(", ")}`);
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: Number(url.port || 5432),
    user: decodeURIComponent(url.username) || "postgres",
    password: decodeURIComponent(url.password),
    database: decodeURIComponent(url.pathname.slice(1)) || "postgres",
    ssl,
  };
}

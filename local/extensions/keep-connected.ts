import postgres from "postgres";
import { socketsUntil } from "../postgres/sockets-until.ts";
import { Latch } from "./latch.ts";
import { pause } from "../../shared/platform/pause.ts";

/** Of a worker that failed while connected: what the extensions' own workers wait before they are started again. */
const RESTART_MS = 1_000;
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5_000;

export type Log = (level: "info" | "error", message: string, details?: Record<string, unknown>) => void;

export type Session = {
  /** One connection, which holds the worker's lock; when it is lost the session ends. */
  sql: postgres.Sql;
  /** Set by each notification on the worker's channel, and at the start. */
  latch: Latch;
  /** Aborted when the connection is lost. */
  lost: AbortSignal;
};

export type Connection = {
  databaseUrl: string;
  name: string;
  /** The notification channel that wakes the worker. */
  channel: string;
  /** Advisory lock of the database, so that it has one such worker however many are started. */
  lock: number;
  stop: AbortSignal;
  onReady: () => void;
  log: Log;
};

/**
 * Runs `serve` in a session until `stop` is aborted. After a lost connection or any error it connects again, with
 * growing pauses while that fails.
 */
export async function keepConnected(options: Connection, serve: (session: Session) => Promise<void>): Promise<void> {
  let retry = FIRST_RETRY_MS;
  while (!options.stop.aborted) {
    let connected = false;
    try {
      await runSession(options, (session) => {
        connected = true;
        options.onReady();
        return serve(session);
      });
    } catch (error) {
      if (options.stop.aborted) return;
      const reason = error instanceof Error ? error.message : String(error);
      options.log("error", `${options.name} starts again`, { reason });
      retry = connected ? FIRST_RETRY_MS : Math.min(retry * 2, LONGEST_RETRY_MS);
      await pause(connected ? RESTART_MS : retry, options.stop);
    }
  }
}

async function runSession(options: Connection, serve: (session: Session) => Promise<void>): Promise<void> {
  const lost = new AbortController();
  const latch = new Latch();
  const ending = new AbortController();
  const sql = postgres(options.databaseUrl, {
    max: 1,
    idle_timeout: 0,
    max_lifetime: null,
    fetch_types: false,
    connection: { application_name: options.name },
    onclose: () => lost.abort(new Error("the connection to the database was lost")),
    onnotice: () => undefined,
    ...socketsUntil(ending.signal),
  });
  try {
    await untilAborted(
      AbortSignal.any([lost.signal, options.stop]),
      sql`select pg_advisory_lock(${options.lock}::bigint)`,
    );
    await sql.listen(
      options.channel,
      () => latch.set(),
      () => latch.set(),
    );
    await untilAborted(lost.signal, serve({ sql, latch, lost: lost.signal }));
  } finally {
    ending.abort();
    await sql.end({ timeout: 0 });
  }
}

async function untilAborted<T>(signal: AbortSignal, work: PromiseLike<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

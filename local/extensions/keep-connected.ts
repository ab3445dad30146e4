import postgres from "postgres";
import { socketsUntil } from "../network.ts";
import { untilAborted } from "../bounded-wait.ts";
import { pause, retryDelay } from "../../shared/platform/retry.ts";

/** The pause before the restart of a worker that failed while connected, as long as that of the extensions' own workers. */
const RESTART_MS = 1_000;
const BACKOFF = { minDelayMs: 200, maxDelayMs: 5_000 };
/** The longest time that setTimeout takes, 24 days. A caller looks again then. */
const MAX_MS = 2 ** 31 - 1;

export type Log = (level: "info" | "error", message: string, details?: Record<string, unknown>) => void;

type Session = {
  /** One connection, which holds the worker's lock. The session ends with it. */
  sql: postgres.Sql;
  /** Set at the start and by each notification on the worker's channel. */
  latch: Latch;
  /** Aborted when the connection is lost. */
  lost: AbortSignal;
};

export type WorkerOptions = {
  databaseUrl: string;
  /** When aborted, the worker starts nothing more, and returns when what it has begun has ended. */
  stop: AbortSignal;
  /** When aborted, the worker gives up what it has begun. The next worker begins it again. */
  abandon: AbortSignal;
  onReady: () => void;
  log: Log;
};

type Connection = WorkerOptions & {
  name: string;
  /** The notification channel that wakes the worker. */
  channel: string;
  /** An advisory lock, so that a database has only one such worker. */
  lock: number;
};

/**
 * Runs `serve` in a session until `stop` is aborted. After a lost connection or any error it reconnects, with growing
 * pauses between failures.
 */
export async function keepConnected(options: Connection, serve: (session: Session) => Promise<void>): Promise<void> {
  let failures = 0;
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
      options.log("error", `${options.name} restarts`, { reason });
      failures = connected ? 0 : failures + 1;
      await pause(connected ? RESTART_MS : retryDelay(failures, BACKOFF), options.stop);
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

/** A flag for one waiting loop. When it is set before the wait, the wait ends at once. */
class Latch {
  #isSet = false;
  #wake: (() => void) | undefined;

  set(): void {
    this.#isSet = true;
    this.#wake?.();
  }

  /** Waits for the flag, `timeoutMs` or `signal`; then clears the flag and returns whether it was set. */
  async wait(signal: AbortSignal, timeoutMs = MAX_MS): Promise<boolean> {
    if (!this.#isSet) {
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      await pause(timeoutMs, AbortSignal.any([signal, woken.signal]));
      this.#wake = undefined;
    }
    const wasSet = this.#isSet;
    this.#isSet = false;
    return wasSet;
  }
}

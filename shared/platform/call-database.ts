import type { WorkerClient } from "./secret-client.ts";

const PATIENCE_MS = 10_000;

/**
 * A call that the database refused or never answered. `code` is the SQLSTATE or PostgREST's, empty when there was no answer.
 * The database's own words are left out: they can hold row data.
 */
export class DatabaseError extends Error {
  constructor(
    readonly called: string,
    readonly status: number,
    readonly code: string,
  ) {
    super(`${called} failed with status ${status}${code && `, code ${code}`}`);
    this.name = "DatabaseError";
  }
}

/** Calls one SQL function by name. The answer is for the caller to parse. Throws DatabaseError. */
export type CallDatabase = (called: string, args: Record<string, unknown>) => Promise<unknown>;

export function createCallDatabase(client: WorkerClient, patienceMs = PATIENCE_MS): CallDatabase {
  return async (called, args) => {
    const { data, error, status } = await client.rpc(called, args).abortSignal(AbortSignal.timeout(patienceMs));
    if (error) throw new DatabaseError(called, status, error.code ?? "");
    return data as unknown; // the client's types say any
  };
}

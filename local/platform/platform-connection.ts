import { PostgresConnection } from "@supabase/lite/postgres";
import { type Kysely, sql } from "kysely";

type Arguments = Parameters<PostgresConnection["withContext"]>;
type Context = NonNullable<Arguments[0]>;
type Options = NonNullable<Arguments[2]>;
/** lite's type of a database handle; tables are known only at run time. */
// biome-ignore lint/suspicious/noExplicitAny: given by lite's signature
type Database = Kysely<any>;

/** In milliseconds by role, as on the hosted platform. */
const STATEMENT_TIMEOUT: Record<string, number> = { anon: 3_000, authenticated: 8_000, service_role: 8_000 };
const ROLES = new Set(Object.keys(STATEMENT_TIMEOUT));

/** Thrown to roll a transaction back on request; has its result. */
class RolledBack extends Error {
  constructor(readonly result: unknown) {
    super("rolled back on purpose");
  }
}

/** Postgres does not answer. */
export class DatabaseUnavailable extends Error {}

/**
 * lite's connection with three changes:
 * - lite grants anon all rights on every table with RLS. Here only migrations grant.
 * - Role and claims are set in one statement instead of six, always inside a transaction, so that they end with it.
 * - The schema is read once for all waiting requests, and a failed read is an error instead of an empty schema.
 */
export class PlatformConnection extends PostgresConnection {
  #reading: ReturnType<PostgresConnection["introspect"]> | undefined;
  /** How often the schema has changed. */
  #changes = 0;

  override async withContext<T>(
    context: Arguments[0],
    run: (db: Database) => Promise<T>,
    options?: Arguments[2],
  ): Promise<T> {
    if (options?.transaction) {
      if (context) await enter(options.transaction, context, options);
      return run(options.transaction);
    }
    if (!context && options?.forceRollback !== true) return run(this.kysely);
    try {
      return await this.kysely.transaction().execute(async (transaction) => {
        if (context) await enter(transaction, context, options);
        const result = await run(transaction);
        if (options?.forceRollback === true) throw new RolledBack(result);
        return result;
      });
    } catch (error) {
      // RolledBack has the T from above as unknown.
      if (error instanceof RolledBack) return error.result as T;
      throw error;
    }
  }

  override async introspect(options?: { useCache?: boolean }) {
    if (options?.useCache === true && this.introspection) return this.introspection;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return await this.#reading;
  }

  override async clearSchemaCache(): Promise<void> {
    this.#changes++;
    await super.clearSchemaCache();
  }

  override normalizeDbError(error: unknown) {
    return super.normalizeDbError(asRestError(error));
  }

  async #read() {
    const version = this.#changes;
    const schema = await super.introspect();
    // Auth's tables always exist, so an empty schema means that the read failed.
    if (schema.tables.length === 0) throw new DatabaseUnavailable("the schema cannot be read");
    if (version !== this.#changes) await super.clearSchemaCache();
    // At each REST request lite searches the text of every view for each of its columns, also of views it does not serve.
    for (const view of schema.views) if (view.schema !== "public" && view.schema !== "keyframe") view.sql = "";
    return schema;
  }
}

/** Sets the caller's role, claims, search path and time limit for this transaction. */
async function enter(transaction: Database, context: Context, options: Options | undefined): Promise<void> {
  // lite types these as empty objects.
  const { auth, storage } = context as {
    auth?: { role?: string; jwt?: unknown };
    storage?: { operation?: string | null };
  };
  const role = auth?.role ?? "anon";
  if (!ROLES.has(role)) throw new Error(`the role ${JSON.stringify(role)} cannot be used through the API`);
  const settings: Record<string, string> = {
    role,
    search_path: "public, extensions",
    statement_timeout: String(STATEMENT_TIMEOUT[role]),
    "request.jwt.claims": JSON.stringify(auth?.jwt ?? { role }),
    "storage.operation": storage?.operation ?? "",
  };
  const request = options?.rpc;
  // lite names the method only of a call. PostgREST and Storage always do.
  settings["request.method"] = request?.method ?? "GET";
  if (request) {
    settings["request.path"] = request.path;
    settings["request.headers"] = JSON.stringify(request.requestHeaders ?? {});
    settings["response.status"] = "";
    settings["response.headers"] = "";
    if (request.readOnly) settings.transaction_read_only = "on";
  }
  const calls = Object.entries(settings).map(([name, value]) => sql`set_config(${name}, ${value}, true)`);
  await sql`select ${sql.join(calls)}`.execute(transaction);
}

interface DatabaseError {
  code: string;
  message: string;
  detail?: string;
  hint?: string;
}

/** lite maps these as PostgREST does, and its Storage reads these codes. */
const LITE_KNOWS = new Set(["42501", "42P01", "42P17", "42703", "42883", "23505", "23503", "23502", "25006"]);

const STATUS_BY_CODE: Record<string, number> = { "21000": 400, "22023": 400, "53400": 500, P0001: 400 };

/** PostgREST's status by SQLSTATE class, of those that Keyframe meets; 400 for all others. */
const STATUS_BY_CLASS: Record<string, number> = {
  "08": 503,
  "53": 503,
  "40": 500,
  "55": 500,
  "57": 500,
  P0: 500,
  XX: 500,
};

function isDatabaseError(error: unknown): error is DatabaseError {
  return (
    error instanceof Error &&
    error.name === "PostgresError" &&
    "code" in error &&
    /^[0-9A-Z]{5}$/.test(String(error.code))
  );
}

/**
 * lite answers 500 for every SQLSTATE it does not know, such as our own (`raise … using errcode = 'KEYFR'`). It knows
 * PostgREST's code PGRST, whose message and detail hold the whole response: such errors are converted to that form.
 */
function asRestError(error: unknown): unknown {
  if (!isDatabaseError(error)) return error;
  const { code, message } = error;
  if (LITE_KNOWS.has(code) || code.startsWith("PT") || code === "PGRST") return error;
  const status = STATUS_BY_CODE[code] ?? STATUS_BY_CLASS[code.slice(0, 2)] ?? 400;
  return {
    code: "PGRST",
    message: JSON.stringify({ code, message, details: error.detail ?? null, hint: error.hint ?? null }),
    detail: JSON.stringify({ status, headers: {} }),
  };
}

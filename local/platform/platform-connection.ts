import { PostgresConnection } from "@supabase/lite/postgres";
import { type Kysely, sql } from "kysely";
import { asRestError } from "./rest-error.ts";

type Arguments = Parameters<PostgresConnection["withContext"]>;
type Context = NonNullable<Arguments[0]>;
type Options = NonNullable<Arguments[2]>;
/** lite's own type of a database handle: the tables are known only at run time. */
// biome-ignore lint/suspicious/noExplicitAny: given by lite's signature
type Database = Kysely<any>;

/** Milliseconds a statement may run, by role, as on the hosted platform. */
const STATEMENT_TIMEOUT: Record<string, number> = { anon: 3_000, authenticated: 8_000, service_role: 8_000 };
const ROLES = new Set(Object.keys(STATEMENT_TIMEOUT));

/** Thrown to undo a rehearsed statement; carries what it returned. */
class Rehearsed extends Error {
  constructor(readonly result: unknown) {
    super("rolled back on purpose");
  }
}

/** The schema cannot be read: Postgres is away. */
export class DatabaseUnavailable extends Error {}

/**
 * lite's connection with three things put right:
 * - lite grants everything on every table under RLS to anon as soon as it sees one. Here grants belong to migrations.
 * - role and claims are set in one statement instead of six, always inside a transaction, so nothing of a caller stays behind.
 * - the schema is read once however many requests wait for it, and a failed read is an error instead of an empty schema.
 */
export class PlatformConnection extends PostgresConnection {
  #reading: ReturnType<PostgresConnection["introspect"]> | undefined;
  /** Another one after each change of the schema. */
  schemaVersion = 0;

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
        if (options?.forceRollback === true) throw new Rehearsed(result);
        return result;
      });
    } catch (error) {
      // The cast undoes the widening in Rehearsed, which was filled with a T four lines above.
      if (error instanceof Rehearsed) return error.result as T;
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
    this.schemaVersion++;
    await super.clearSchemaCache();
  }

  override normalizeDbError(error: unknown) {
    return super.normalizeDbError(asRestError(error));
  }

  async #read() {
    const version = this.schemaVersion;
    const schema = await super.introspect();
    // A platform without a single table is one that could not be asked: Auth's are always there.
    if (schema.tables.length === 0) throw new DatabaseUnavailable("the schema cannot be read");
    if (version !== this.schemaVersion) await super.clearSchemaCache();
    // lite searches the text of every view for each of its columns, at each request to REST. For those it does not serve that is in vain.
    for (const view of schema.views) if (view.schema !== "public" && view.schema !== "keyframe") view.sql = "";
    return schema;
  }
}

/** Makes the transaction the caller's: role, claims, search path and time limit end with it. */
async function enter(transaction: Database, context: Context, options: Options | undefined): Promise<void> {
  // lite types these as empty objects; this is what it puts in them.
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
  if (request) {
    settings["request.method"] = request.method;
    settings["request.path"] = request.path;
    settings["request.headers"] = JSON.stringify(request.requestHeaders ?? {});
    settings["response.status"] = "";
    settings["response.headers"] = "";
    if (request.readOnly) settings.transaction_read_only = "on";
  }
  const calls = Object.entries(settings).map(([name, value]) => sql`set_config(${name}, ${value}, true)`);
  await sql`select ${sql.join(calls)}`.execute(transaction);
}

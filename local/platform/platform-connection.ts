import { AsyncLocalStorage } from "node:async_hooks";
import { PostgresConnection } from "@supabase/lite/postgres";
import { CompiledQuery, type Kysely, sql } from "kysely";
import { isDatabaseError, poolExhausted, type RestError, restError } from "./rest/error.ts";
import type { CallAnswer, RestFunction } from "./rest/function-call.ts";
import type { RestCaller } from "./rest/token.ts";

type Arguments = Parameters<PostgresConnection["withContext"]>;
type Context = NonNullable<Arguments[0]>;
type Options = NonNullable<Arguments[2]>;
/** lite's type of a database handle; tables are known only at run time. */
// biome-ignore lint/suspicious/noExplicitAny: given by lite's signature
type Database = Kysely<any>;

const ROLES = new Set(["anon", "authenticated", "service_role"]);

/** A request of the Data API: who asks, in which schema, and how long the function that it calls may take. */
export type RestRequest = RestCaller & { schema: string; timeLimit: string | undefined; signal: AbortSignal };

/** The request that lite is answering. It is no parameter, because lite calls `withContext` and `normalizeDbError` below and passes no request. */
export const requested = new AsyncLocalStorage<{ method: string; service: string | undefined; rest?: RestRequest }>();

/** Thrown to roll a transaction back on request. It has the transaction's result. */
class RolledBack extends Error {
  constructor(readonly result: unknown) {
    super("rolled back on purpose");
  }
}

/** Postgres does not answer. */
export class DatabaseUnavailable extends Error {}

/** Every connection was busy for as long as a request waits for one. */
export class PoolExhausted extends Error {}

/** Conflicts after which PostgREST runs the transaction again, for as long as they go on. */
const RUN_AGAIN = /^(40001|40P01)$/;

/**
 * lite's connection with these changes (local/README.md names the test of each):
 * - lite grants anon all rights on every table with RLS. Here only migrations grant.
 * - Role and claims are set in one statement instead of six, always inside a transaction, so that they end with it.
 * - The settings of roles and the time limits of functions are those in the catalog.
 * - The schema is read once for all waiting requests, and a failed read is an error instead of an empty schema.
 */
export class PlatformConnection extends PostgresConnection {
  #reading: ReturnType<PostgresConnection["introspect"]> | undefined;
  /** How often the schema has changed. */
  #changes = 0;
  #roleSettings: Promise<RoleSettings> | undefined;
  /** "schema.function" → its statement_timeout. */
  #timeLimits = new Map<string, string>();

  override async withContext<T>(
    context: Arguments[0],
    run: (db: Database) => Promise<T>,
    options?: Arguments[2],
  ): Promise<T> {
    const enterAs = async (transaction: Database) => {
      if (!context) return;
      this.#roleSettings ??= readRoleSettings(transaction);
      await enter(transaction, context, options, await this.#roleSettings);
    };
    if (options?.transaction) {
      await enterAs(options.transaction);
      return run(options.transaction);
    }
    if (!context && options?.forceRollback !== true) return run(this.kysely);
    const { method = "", service, rest } = requested.getStore() ?? {};
    // PostgREST begins the transaction like this, whatever default_transaction_read_only says.
    const mode = /^(GET|HEAD)$/.test(method) ? "read only" : "read write";
    for (;;) {
      try {
        const transaction = this.kysely.transaction();
        return await (service === "rest" ? transaction.setAccessMode(mode) : transaction).execute(
          async (transaction) => {
            await enterAs(transaction);
            const result = await run(transaction);
            if (options?.forceRollback === true) throw new RolledBack(result);
            return result;
          },
        );
      } catch (error) {
        // RolledBack has the T from above as unknown.
        if (error instanceof RolledBack) return error.result as T;
        if (!(rest?.signal.aborted === false && isDatabaseError(error) && RUN_AGAIN.test(error.code))) throw error;
      }
    }
  }

  /** Runs a statement of rest/function-call.ts with the body as its parameter. */
  async call(text: string, body: string, about: Omit<NonNullable<Options["rpc"]>, "readOnly">): Promise<CallAnswer> {
    return await this.withContext(
      {},
      async (database) => {
        const { rows } = await database.executeQuery<CallAnswer>(CompiledQuery.raw(text, [body]));
        if (rows[0] === undefined) throw new Error("a call has one answer");
        return rows[0];
      },
      { rpc: { ...about, readOnly: false } },
    );
  }

  async functions(schema: string, name: string): Promise<RestFunction[]> {
    const { functions = [] } = await this.introspect({ useCache: true });
    const timeLimit = this.#timeLimits.get(`${schema}.${name}`);
    return functions.filter((one) => one.schema === schema && one.name === name).map((one) => ({ ...one, timeLimit }));
  }

  /** PostgREST forgets them too at `notify pgrst, 'reload config'`. */
  forgetRoleSettings(): void {
    this.#roleSettings = undefined;
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
    this.#timeLimits = await readTimeLimits(this.kysely);
    if (version !== this.#changes) await super.clearSchemaCache();
    // At each REST request lite searches the text of every view for each of its columns, even of views that it does not serve.
    for (const view of schema.views) if (view.schema !== "public" && view.schema !== "keyframe") view.sql = "";
    return schema;
  }
}

/** Role → name of a setting → value. */
type RoleSettings = Map<string, Record<string, string>>;

/** The settings of the Data API's roles from `alter role … set`. A request begins as authenticator, so all requests get that role's settings. */
async function readRoleSettings(database: Database): Promise<RoleSettings> {
  const { rows } = await sql<{ role: string; name: string; value: string }>`
    select r.rolname as role, p.name, substr(s, strpos(s, '=') + 1) as value
    from pg_roles r, unnest(r.rolconfig) s, pg_settings p
    where p.name = split_part(s, '=', 1) and p.context = 'user'`.execute(database);
  const of = (role: string) =>
    Object.fromEntries(rows.filter((row) => row.role === role).map(({ name, value }) => [name, value]));
  return new Map([...ROLES].map((role) => [role, { ...of("authenticator"), ...of(role) }]));
}

/** The functions' own limits. Postgres applies them to statements that begin later, PostgREST to the call. */
async function readTimeLimits(database: Database): Promise<Map<string, string>> {
  const { rows } = await sql<{ name: string; value: string }>`
    select n.nspname || '.' || p.proname as name, substr(s, strpos(s, '=') + 1) as value
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace, unnest(p.proconfig) s
    where s like 'statement_timeout=%'`.execute(database);
  return new Map(rows.map(({ name, value }) => [name, value]));
}

/** Sets the caller's role, claims, search path and time limit for this transaction. */
async function enter(
  transaction: Database,
  context: Context,
  options: Options | undefined,
  roleSettings: RoleSettings,
): Promise<void> {
  // lite types these as empty objects.
  const { auth, storage } = context as {
    auth?: { role?: string; jwt?: unknown };
    storage?: { operation?: string | null };
  };
  // lite names the method only of a call.
  const { method = "", rest } = requested.getStore() ?? {};
  const role = rest?.role ?? auth?.role ?? "anon";
  if (!ROLES.has(role)) throw new Error(`the role ${JSON.stringify(role)} cannot be used through the API`);
  const settings: Record<string, string> = {
    ...roleSettings.get(role),
    role,
    search_path: `${rest && rest.schema !== "public" ? `"${rest.schema}", ` : ""}public, extensions`,
    "request.jwt.claims": JSON.stringify(rest?.claims ?? auth?.jwt ?? { role }),
    "storage.operation": storage?.operation ?? "",
  };
  if (rest?.timeLimit !== undefined) settings.statement_timeout = rest.timeLimit;
  const request = options?.rpc;
  settings["request.method"] = request?.method ?? method;
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

/** lite's Storage reads these codes. */
const STORAGE_READS = new Set(["42501", "42P01", "42P17", "42703", "42883", "23505", "23503", "23502", "25006"]);
/** For an unknown column lite writes PostgREST's message. */
const LITE_WORDS = "42703";

/**
 * lite answers 500 for every SQLSTATE it does not know, such as our own (`raise … using errcode = 'KEYFR'`). It knows
 * PostgREST's code PGRST, whose message and detail hold the whole response: such errors are converted to that form.
 */
function asRestError(error: unknown): unknown {
  const { service, rest } = requested.getStore() ?? {};
  if (error instanceof PoolExhausted) return asRaised(poolExhausted());
  if (!isDatabaseError(error) || error.code === "PGRST") return error;
  if (service === "rest" ? error.code === LITE_WORDS : STORAGE_READS.has(error.code)) return error;
  return asRaised(restError(error, rest?.role ?? ""));
}

function asRaised({ status, headers, body }: RestError) {
  return { code: "PGRST", message: JSON.stringify(body), detail: JSON.stringify({ status, headers }) };
}

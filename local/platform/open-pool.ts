import { App, type IAppConfig, setExperimental } from "@supabase/lite";
import type { Sql } from "postgres";
import { socketsUntil } from "../network.ts";
import { log } from "./log.ts";
import { within } from "../bounded-wait.ts";
import { DatabaseUnavailable, PlatformConnection, PoolExhausted } from "./platform-connection.ts";
import { createStorageFiles } from "./storage-files.ts";

export type LiteOptions = {
  /** The URL has a superuser: lite acts for Auth and Storage, and sets the caller's role for everything else. */
  databaseUrl: string;
  publicUrl: string;
  liteSecret: string;
  publishableKey: string;
  secretKey: string;
  storageFolder: string;
  sendMail: (mail: { to: string; subject: string; text: string }) => void;
  /** How long a request waits for a connection, in milliseconds. */
  acquisitionMs?: number;
};

/** lite with its own connections, valid until the first of them is lost. */
export type Pool = {
  app: App<IAppConfig>;
  connection: PlatformConnection;
  /** Aborted when a connection closes unexpectedly. */
  lost: AbortSignal;
  /** Whether every exposed schema exists; undefined when that is not known, or has changed. */
  exposed: { exist?: Promise<boolean> | undefined };
  /** Ends idle connections at once, the others after their requests or after `seconds`. */
  end(seconds: number): Promise<void>;
};

/** Connects at the first request, so Postgres need not run yet. */
export function openPool(options: LiteOptions): Pool {
  const loss = new AbortController();
  const ending = new AbortController();
  const connection = new PlatformConnection({
    url: options.databaseUrl,
    postgresOptions: {
      max: 20, // and so the number of requests at the same time
      connect_timeout: 5,
      backoff: () => 0.2,
      max_lifetime: null,
      onnotice: () => undefined,
      onclose: () => loss.abort(),
      // Lets lite delete rows of Storage, see bootstrap-services.sql.
      connection: { application_name: "keyframe-platform", "storage.allow_delete_query": "true" },
      ...socketsUntil(ending.signal),
      // lite's own numeric is a text for 2.50.
      types: {
        json: jsonType(114),
        jsonb: jsonType(3802),
        numeric: { to: 1700, from: [1700], serialize: String, parse: Number },
      },
    },
  });
  const statements = createStatements();
  guardReservations(connection.driver, statements, loss.signal, options.acquisitionMs ?? ACQUISITION_MS);
  const exposed: Pool["exposed"] = {};
  const forgetSchema = () => {
    statements.forget();
    exposed.exist = undefined;
    void connection.clearSchemaCache();
  };
  const reload = (what: string) => (what === "reload config" ? connection.forgetRoleSettings() : forgetSchema());
  // The schema is also forgotten when listening begins, because earlier changes were not notified.
  connection.driver.listen("pgrst", reload, forgetSchema).catch(() => loss.abort());
  const end = (seconds: number) => {
    ending.abort();
    return connection.driver.end({ timeout: seconds });
  };
  return { app: createApp(connection, options), connection, lost: loss.signal, exposed, end };
}

/** lite passes JSON values as text, which the driver would quote a second time. */
const jsonType = (oid: number) => ({ to: oid, from: [oid], serialize: jsonText, parse: JSON.parse });

function jsonText(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  try {
    JSON.parse(value);
    return value;
  } catch {
    return JSON.stringify(value);
  }
}

/** The same schemas as in supabase/config.toml. */
export const EXPOSED_SCHEMAS = ["public", "keyframe", "keyframe_worker"];
export const isExposed = (schema: string): boolean => EXPOSED_SCHEMAS.includes(schema);

// lite's Storage is off by default.
setExperimental("storage", true);

/** lite with our keys and connection, files in a folder, and emails that are kept instead of sent. */
function createApp(connection: PlatformConnection, options: LiteOptions): App<IAppConfig> {
  const app = new App<IAppConfig>({
    connection,
    api: { enabled: true, schemas: EXPOSED_SCHEMAS },
    auth: {
      enabled: true,
      jwt_secret: options.liteSecret,
      publishable_key: options.publishableKey,
      secret_key: options.secretKey,
      site_url: options.publicUrl,
      jwt_expiry: 3_600,
      email: { enable_signup: true, enable_confirmations: false },
    },
    storage: { enabled: true, file_size_limit: "500MiB" },
    options: {
      drivers: {
        email: {
          send: async ({ to, subject, text = "" }) => {
            // The text is not logged, because its link would sign in anyone who reads the log.
            log("info", "mail", { to, subject });
            options.sendMail({ to, subject, text });
          },
        },
      },
      server: {
        disableStudio: true,
        disableFallback: false,
        middlewares: [
          async (context, next) => {
            // lite would query Auth's tables for user and session at each REST request. PostgREST does not, and the gateway has
            // already verified the token, which lite reads later.
            if (context.req.path.startsWith("/rest/v1/")) {
              context.set("userId", "checked by the gateway");
              context.set("sessionId", "checked by the gateway");
            }
            await next();
          },
        ],
      },
    },
  });
  app._storageAdapter = createStorageFiles(options.storageFolder);
  return app;
}

/** The same as PostgREST's db-pool-acquisition-timeout. */
const ACQUISITION_MS = 10_000;

/** The limit is needed: a connection keeps its prepared statements for good, and a text varies with a request's columns and rows. */
const MAX_PREPARED = 200;

/** Which statements are prepared: like PostgREST's, those with parameters. */
function createStatements() {
  let prepared = new Set<string>();
  let version = 0;
  return {
    /** The text to send, and whether it is prepared. */
    of(text: string, parameters: unknown[] = []): { text: string; prepare: boolean } {
      if (parameters.length > 0 && prepared.size < MAX_PREPARED) prepared.add(text);
      return prepared.has(text) ? { text: `${text} -- ${version}`, prepare: true } : { text, prepare: false };
    },
    /** After a change of the schema the same texts are prepared again, because an old plan cannot have another result type. */
    forget(): void {
      prepared = new Set();
      version += 1;
    },
  };
}

/**
 * Replaces `reserve` of the driver, which lite creates: each statement of lite goes through it (local/README.md lists the patches of lite).
 *
 * Prevents the use of closed connections. postgres.js accepts statements for a reserved connection that has closed, such as the ROLLBACK
 * after an error: they never end, or throw outside of any promise and end the process. A closed connection that is released goes to the next
 * caller.
 *
 * @param lost aborted when any connection of the pool closes; the whole pool is then unusable
 */
function guardReservations(
  sql: Sql,
  statements: ReturnType<typeof createStatements>,
  lost: AbortSignal,
  acquisitionMs: number,
): void {
  const gone = () => new DatabaseUnavailable("the connection to Postgres is gone");
  const reserve = sql.reserve.bind(sql);
  const loss = new Promise<never>((_, reject) => {
    lost.addEventListener("abort", () => reject(gone()), { once: true });
  });
  loss.catch(() => undefined); // there may be no waiting caller

  sql.reserve = async () => {
    if (lost.aborted) throw gone();
    const requested = reserve();
    const reserved = await within(Promise.race([requested, loss]), acquisitionMs, () => {
      void requested.then(
        (late) => late.release(),
        () => undefined,
      );
      throw new PoolExhausted();
    });
    const { unsafe, release } = reserved;
    reserved.unsafe = (text, parameters, options) => {
      if (lost.aborted) throw gone();
      const statement = statements.of(text, parameters);
      return unsafe(statement.text, parameters, { prepare: statement.prepare, ...options });
    };
    reserved.release = () => {
      if (!lost.aborted) release();
    };
    return reserved;
  };
}

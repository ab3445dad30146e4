import { App, type IAppConfig, setExperimental } from "@supabase/lite";
import { guardReservations } from "./guard-reservations.ts";
import { log } from "./log.ts";
import { DatabaseUnavailable, PlatformConnection } from "./platform-connection.ts";
import { createStorageFiles } from "./storage-files.ts";

export interface LiteOptions {
  /** A superuser's address: lite acts for Auth and Storage, and becomes the caller's role for everything else. */
  databaseUrl: string;
  publicUrl: string;
  liteSecret: string;
  publishableKey: string;
  secretKey: string;
  storageFolder: string;
  /** Connections to Postgres; as many requests run side by side. */
  poolSize?: number;
}

/** lite, kept alive: a pool that lost a connection is replaced as soon as Postgres answers again. */
export interface Lite {
  /** @throws DatabaseUnavailable when Postgres is away */
  fetch(request: Request): Promise<Response>;
  /** The row of a bucket, or undefined. */
  bucket(id: string): Promise<{ fileSizeLimit: number | null; public: boolean } | undefined>;
  ping(): Promise<boolean>;
  close(): Promise<void>;
}

interface Pool {
  app: App<IAppConfig>;
  connection: PlatformConnection;
  /** Aborted when a connection closes that nobody here has closed. */
  lost: AbortSignal;
}

const PING_MS = 2_000;
const DRAIN_SECONDS = 10;
/** A request to Auth or REST that takes longer is given up; statements end after 8 s, see platform-connection.ts. */
const REQUEST_MS = 30_000;

setExperimental("storage", true);

export function createLite(options: LiteOptions): Lite {
  let pool = openPool(options);
  let replacing: Promise<void> | undefined;

  // postgres.js forgets nothing it queued while Postgres was away: reservations nobody waits for any more would take
  // its connections for good. A new pool has none of them.
  async function replace(): Promise<void> {
    const next = openPool(options);
    if (!(await answers(next))) {
      void next.connection.driver.end({ timeout: 0 });
      throw new DatabaseUnavailable("Postgres does not answer");
    }
    const former = pool;
    pool = next;
    log("info", "connected to Postgres again");
    void former.connection.driver.end({ timeout: DRAIN_SECONDS });
  }

  return {
    async fetch(request) {
      if (pool.lost.aborted) {
        replacing ??= replace().finally(() => {
          replacing = undefined;
        });
        await replacing;
      }
      const used = pool;
      const response = await withDeadline(used.app.fetch(request, { peerAddress: null }), request);
      if (response.status >= 500 && (used.lost.aborted || !(await answers(used)))) {
        await response.body?.cancel();
        throw new DatabaseUnavailable("Postgres went away");
      }
      return response;
    },
    async bucket(id) {
      const [row] = await pool.connection.driver<{ file_size_limit: string | number | null; public: boolean | null }[]>`
        select file_size_limit, public from storage.buckets where id = ${id}`;
      if (!row) return undefined;
      const limit = row.file_size_limit;
      return { fileSizeLimit: limit === null ? null : Number(limit), public: row.public === true };
    },
    ping: () => answers(pool),
    close: () => pool.connection.driver.end({ timeout: 1 }),
  };
}

function openPool(options: LiteOptions): Pool {
  const loss = new AbortController();
  const connection = new PlatformConnection({
    url: options.databaseUrl,
    postgresOptions: {
      max: options.poolSize ?? 20,
      connect_timeout: 5,
      backoff: () => 0.2,
      max_lifetime: null,
      onnotice: () => undefined,
      onclose: () => loss.abort(),
      // Storage deletes its rows after their files; nobody else may, see bootstrap-services.sql.
      connection: { application_name: "keyframe-platform", "storage.allow_delete_query": "true" },
      types: { json: jsonType(114), jsonb: jsonType(3802) },
    },
  });
  guardReservations(connection.driver, loss.signal);
  connection.driver
    .listen("pgrst", () => void connection.clearSchemaCache())
    .catch((error: unknown) => {
      loss.abort();
      log("warn", "cannot listen for schema changes", { error: String(error) });
    });
  return { app: createApp(connection, options), connection, lost: loss.signal };
}

function createApp(connection: PlatformConnection, options: LiteOptions): App<IAppConfig> {
  const app = new App<IAppConfig>({
    connection,
    api: { enabled: true, schemas: ["public"] },
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
          send: (mail) => {
            log("info", "mail", { to: mail.to, subject: mail.subject, text: mail.text });
            return Promise.resolve();
          },
        },
      },
      server: {
        disableStudio: true,
        disableFallback: false,
        middlewares: [
          async (context, next) => {
            // lite asks Auth's tables for user and session at each REST request. PostgREST does not: the token is proof
            // enough, and the gateway has checked it. lite reads the token itself a little later.
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

/** lite gives JSON values as text already; its own connection would quote that text once more. */
function jsonType(oid: number) {
  return { to: oid, from: [oid], serialize: jsonText, parse: (text: string): unknown => JSON.parse(text) };
}

function jsonText(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  try {
    JSON.parse(value);
    return value;
  } catch {
    return JSON.stringify(value);
  }
}

async function answers(pool: Pool): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), PING_MS);
  });
  const query = pool.connection.driver`select 1`.then(
    () => true,
    () => false,
  );
  return await Promise.race([query, late]).finally(() => clearTimeout(timer));
}

/** Storage may take as long as its bytes take; everything else has an end even if the driver never answers. */
async function withDeadline(answer: Promise<Response>, request: Request): Promise<Response> {
  if (new URL(request.url).pathname.startsWith("/storage/")) return await answer;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<Response>((_, reject) => {
    timer = setTimeout(() => reject(new DatabaseUnavailable("no answer in time")), REQUEST_MS);
  });
  return await Promise.race([answer, late]).finally(() => clearTimeout(timer));
}

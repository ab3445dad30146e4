import type { App, IAppConfig } from "@supabase/lite";
import { socketsUntil } from "../postgres/sockets-until.ts";
import type { LiteOptions } from "./create-lite.ts";
import { guardReservations } from "./guard-reservations.ts";
import { createApp } from "./lite-app.ts";
import { PlatformConnection } from "./platform-connection.ts";
import { createSendAhead } from "./send-ahead.ts";

/** lite on connections of its own, good until the first of them is lost. */
export interface Pool {
  app: App<IAppConfig>;
  connection: PlatformConnection;
  /** Aborted when a connection closes that nobody here has closed. */
  lost: AbortSignal;
  /** Ends its connections: idle ones at once, the others when their requests have ended, or after so many seconds. */
  end(seconds: number): Promise<void>;
}

/** Connects as requests come; Postgres need not be there yet. */
export function openPool(options: LiteOptions): Pool {
  const loss = new AbortController();
  const ending = new AbortController();
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
      ...socketsUntil(ending.signal),
      types: { json: jsonType(114), jsonb: jsonType(3802) },
    },
  });
  guardReservations(
    connection.driver,
    loss.signal,
    createSendAhead(() => connection.schemaVersion),
  );
  const forgetSchema = () => void connection.clearSchemaCache();
  // Once more when the listening begins: a change just before it was told to nobody.
  connection.driver.listen("pgrst", forgetSchema, forgetSchema).catch(() => loss.abort());
  const end = (seconds: number) => {
    ending.abort();
    return connection.driver.end({ timeout: seconds });
  };
  return { app: createApp(connection, options), connection, lost: loss.signal, end };
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

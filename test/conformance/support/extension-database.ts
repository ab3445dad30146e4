import postgres from "postgres";
import { inject } from "vitest";
import { installExtensions } from "../../../local/extensions/install-extensions.ts";
import { onServer } from "../../../local/postgres/on-server.ts";
import { ChildProcess } from "../../../local/stack/child-process.ts";
import { describeScheduler } from "../../../local/stack/describe-children.ts";

export type ExtensionDatabase = Awaited<ReturnType<typeof extensionDatabase>>;

/**
 * A database with the extensions, real or stand-in: the stack's own where the extension is real, which is the one at
 * KEYFRAME_DATABASE_URL; otherwise a throw-away one on the same server, as the worker of a stand-in is one per database,
 * and the stack's runs beside this.
 */
export async function extensionDatabase(extension: "pg_net" | "pg_cron" | "supabase_vault") {
  const server = inject("stack").databaseUrl;
  const name = `keyframe_conformance_${crypto.randomUUID().slice(0, 8)}`;
  const isReal = await onServer(server, async (sql) => {
    const real = await sql`
      select from pg_available_extensions
      where name = ${extension} and (name = 'supabase_vault' or current_setting('shared_preload_libraries') ~ name)`;
    if (real.count === 0) await sql.unsafe(`create database ${name}`);
    return real.count > 0;
  });
  const address = new URL(server);
  if (!isReal) address.pathname = `/${name}`;
  const url = address.href;
  const clients: postgres.Sql[] = [];
  const connect = (role?: string) => {
    const sql = postgres(url, { max: 4, onnotice: () => undefined, connection: role ? { role } : {} });
    clients.push(sql);
    return sql;
  };
  const admin = connect();
  await admin`grant create, usage on schema public to postgres`;
  const installed = await installExtensions(admin);
  const [role] = await admin<{ rolsuper: boolean }[]>`select rolsuper from pg_roles where rolname = 'postgres'`;
  const scheduler = new ChildProcess(describeScheduler({ dataDir: "/dev/null" }, url, installed));
  if (installed[extension] === "stand-in" && extension !== "supabase_vault") await scheduler.start();
  return {
    /** The superuser. */
    admin,
    /** Sessions as a role, as the project's own SQL has them. */
    as: (role: "postgres" | "anon" | "authenticated" | "service_role") => connect(role),
    /** On a given server whose own superuser is called postgres nothing is denied to that role. */
    postgresIsSuperuser: role?.rolsuper ?? false,
    stop: async () => {
      await Promise.all(clients.map((sql) => sql.end({ timeout: 5 })));
      await scheduler.stop();
      if (!isReal) await onServer(server, (sql) => sql.unsafe(`drop database ${name} with (force)`));
    },
  };
}

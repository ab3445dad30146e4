import postgres from "postgres";
import { type Installed, installExtensions } from "../../../local/extensions/install-extensions.ts";
import { startPostgres } from "../../../local/postgres/start-postgres.ts";
import { startScheduler } from "./scheduler.ts";

export type ExtensionDatabase = {
  url: string;
  /** The superuser. */
  admin: postgres.Sql;
  /** Sessions as a role, as the project's own SQL has them. */
  as(role: "postgres" | "anon" | "authenticated" | "service_role"): postgres.Sql;
  installed: Installed;
  /** On a given server whose own superuser is called postgres nothing is denied to that role. */
  postgresIsSuperuser: boolean;
  stop(): Promise<void>;
};

/**
 * A database with the extensions, real or stand-in: the one at KEYFRAME_DATABASE_URL where the extension is real, on the
 * same server a throw-away one for a stand-in (whose worker is one per database, and the stack's may run beside this),
 * and without a given server a throw-away server. Of the stand-ins' workers only `worker` is started.
 */
export async function extensionDatabase(worker: "pg_net" | "pg_cron" | "none"): Promise<ExtensionDatabase> {
  const given = Deno.env.get("KEYFRAME_DATABASE_URL");
  const server = given ? await givenDatabase(given, worker) : await throwAwayPostgres();
  const { url } = server;
  const clients: postgres.Sql[] = [];
  const connect = (role?: string) => {
    const sql = postgres(url, { max: 4, onnotice: () => undefined, connection: role ? { role } : {} });
    clients.push(sql);
    return sql;
  };
  const admin = connect();
  await makeRoles(admin);
  const installed = await installExtensions(admin);
  const [role] = await admin<{ rolsuper: boolean }[]>`select rolsuper from pg_roles where rolname = 'postgres'`;
  const standIn = worker !== "none" && installed[worker] === "stand-in";
  const scheduler = standIn ? await startScheduler(url, worker) : undefined;
  return {
    url,
    admin,
    as: connect,
    installed,
    postgresIsSuperuser: role?.rolsuper ?? false,
    stop: async () => {
      await Promise.all(clients.map((sql) => sql.end({ timeout: 5 })));
      await scheduler?.stop();
      await server.stop();
    },
  };
}

async function givenDatabase(given: string, worker: "pg_net" | "pg_cron" | "none") {
  const sql = postgres(given, { max: 1, onnotice: () => undefined });
  const extension = worker === "none" ? "supabase_vault" : worker;
  const [real] = await sql`
    select from pg_available_extensions
    where name = ${extension} and (name = 'supabase_vault' or current_setting('shared_preload_libraries') ~ name)`;
  if (real) {
    await sql.end();
    return { url: given, stop: async () => undefined };
  }
  const name = `keyframe_conformance_${crypto.randomUUID().slice(0, 8)}`;
  await sql.unsafe(`create database ${name}`);
  const url = new URL(given);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    stop: async () => {
      await sql.unsafe(`drop database ${name} with (force)`);
      await sql.end();
    },
  };
}

/** Removes its data when it stops. */
export async function throwAwayPostgres(): Promise<{ url: string; stop(): Promise<void> }> {
  const folder = await Deno.makeTempDir({ prefix: "keyframe-conformance-" });
  await Deno.chmod(folder, 0o755);
  const server = await startPostgres({ dataDir: `${folder}/data`, durable: false });
  return {
    url: server.url,
    stop: async () => {
      await server.stop();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** The roles that the hosted platform has, those that the extensions' privileges name. */
export async function makeRoles(admin: postgres.Sql): Promise<void> {
  await admin.unsafe(`do $$
    declare role text;
    begin
      perform pg_advisory_xact_lock(5470009); -- test files that share a given database
      foreach role in array array['anon', 'authenticated', 'service_role', 'postgres'] loop
        if not exists (select from pg_roles where rolname = role) then
          execute format('create role %I nologin %s', role, case when role = 'service_role' then 'bypassrls' else '' end);
        end if;
      end loop;
      if not (select rolsuper from pg_roles where rolname = 'postgres') then
        alter role postgres login createrole createdb bypassrls;
      end if;
      grant create, usage on schema public to postgres;
      grant pg_monitor to postgres; -- as hosted: net.check_worker_is_up() looks for the worker's process
    end $$`);
}

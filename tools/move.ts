import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { isDeepStrictEqual } from "node:util";
import postgres from "postgres";
import { installExtensions } from "../local/extensions/install-extensions.ts";
import { bootstrapPlatform } from "../local/platform/bootstrap-platform.ts";
import { applyMigrations } from "../local/stack/apply-migrations.ts";
import { oneLine, parseOptions, runMain } from "../local/stack/command-line.ts";
import { claimData } from "../local/stack/data-folder.ts";
import { openDatabase } from "../local/stack/open-database.ts";
import { readMigrations, statementsOf } from "../local/stack/read-migrations.ts";
import { STACK_OPTIONS } from "../local/stack/stack-settings.ts";
import { demoUserOf, loadStackKeys } from "../local/stack/stack-keys.ts";

const HELP = `npm run move -- --from <url> [options]   copies a stack's data from your own Postgres into the embedded one

  --from URL    the Postgres 15 to 17 that KEYFRAME_DATABASE_URL named; stop its stack first
  --data DIR    the data folder of the stack (default .keyframe), which has the files and keys

It copies users, files' rows, everything of Keyframe and the secrets of webhook endpoints; it names endpoints whose secret cannot be
read. The jobs and the other secrets are made anew. The source stays as it is. See docs/upgrade.md.`;

async function main(): Promise<number> {
  const { values } = parseOptions({
    args: Deno.args,
    options: {
      from: { type: "string" },
      data: STACK_OPTIONS.data,
    },
  });
  // The value is not shown: it may contain a password.
  if (!/^postgres(ql)?:$/.test(URL.parse(values.from ?? "")?.protocol ?? "")) {
    throw new Error("--from must be an address such as postgres://user:password@127.0.0.1:5432/film.");
  }
  const { rows, unread } = await readFrom(values.from ?? "", (from) =>
    writeInto(resolve(values.data), (to, demoUser) => copyData(from, to, demoUser)),
  );
  console.log(`${rows} rows are copied. Start the stack without KEYFRAME_DATABASE_URL: npm start`);
  if (unread.length > 0) {
    console.log(
      `The secrets of these webhook endpoints cannot be read and are not copied: ${unread.join(", ")}. Their deliveries fail with not_signed until you rotate the secret and give the new one to the receiver (docs/administer.md).`,
    );
  }
  return 0;
}

type Moved = { rows: number; unread: string[] };

/** Runs `work` on one state of the source, once that is seen to be one that can be moved. */
async function readFrom(url: string, work: (from: postgres.TransactionSql) => Promise<Moved>): Promise<Moved> {
  const source = await connect(url);
  try {
    return await source.begin("isolation level repeatable read read only", async (from) => {
      await checkSource(from);
      return await work(from);
    });
  } catch (error) {
    if (!(error instanceof postgres.PostgresError)) throw error;
    throw new Error(
      `Nothing was copied, because Postgres refused (${oneLine(error)}). --from takes the superuser of KEYFRAME_DATABASE_URL: compare them, and run the command again.`,
    );
  } finally {
    await source.end({ timeout: 1 });
  }
}

async function connect(url: string): Promise<postgres.Sql> {
  try {
    const sql = postgres(url, { max: 1, connect_timeout: 10, onnotice: () => undefined });
    await sql`select 1`;
    return sql;
  } catch (error) {
    throw new Error(
      `The Postgres of --from cannot be reached (${oneLine(error)}): start it, or compare the address with KEYFRAME_DATABASE_URL.`,
    );
  }
}

async function checkSource(from: postgres.TransactionSql): Promise<void> {
  const [known] = await from`select to_regclass('keyframe_private.installation') is not null as installed`;
  if (!known?.installed) throw new Error("That Postgres has no Keyframe: compare --from with KEYFRAME_DATABASE_URL.");
  const [stack] = await from`select from pg_stat_activity
    where datname = current_database() and application_name = 'keyframe-platform'`;
  if (stack)
    throw new Error("A stack still runs on that Postgres: stop it first, or its workers change what is copied.");
  const applied = await from<{ name: string; text: string }[]>`
    select name, array_to_string(statements, ' ') as text from supabase_migrations.schema_migrations
    where name ~ '^keyframe_' order by version`;
  const statements = (migrations: { name: string; text: string }[]) =>
    migrations.map(({ name, text }) => [name, statementsOf(text)]);
  if (!isDeepStrictEqual(statements(applied), statements(await readMigrations()))) {
    throw new Error("That Postgres has the migrations of another version: start this checkout on it once, then move.");
  }
}

/** Runs `work` on the embedded Postgres of a data folder, in a transaction. */
async function writeInto(
  dataDir: string,
  work: (to: postgres.TransactionSql, demoUser: string) => Promise<Moved>,
): Promise<Moved> {
  const claim = claimData(dataDir);
  try {
    const target = await openDatabase({ dataDir, port: 0 });
    const sql = postgres(target.url, { max: 1, onnotice: () => undefined });
    try {
      const keys = await loadStackKeys(dataDir);
      const { postgresPassword } = keys;
      await bootstrapPlatform(sql, { postgresPassword });
      await installExtensions(sql);
      await applyMigrations(await target.migrationUrl(postgresPassword), join(dataDir, "cli-home"));
      return await sql.begin((to) => work(to, demoUserOf(keys).email));
    } finally {
      await sql.end({ timeout: 1 });
      await target.stop();
    }
  } finally {
    claim.release();
  }
}

/** `rows`: how many were copied. `unread`: endpoints with a secret that was not. */
async function copyData(from: postgres.TransactionSql, to: postgres.TransactionSql, demoUser: string): Promise<Moved> {
  const [there] = await to`select exists (select from keyframe.projects)
    or exists (select from auth.users where email <> ${demoUser}) as used`;
  if (there?.used) {
    throw new Error(
      "The embedded Postgres has projects or users already: name another folder with --data, or start it once with --reset.",
    );
  }
  const source = await columnsOf(from);
  const target = await columnsOf(to);
  const tables = [...target.keys()].filter((table) => source.has(table));
  // Triggers would act on the copied rows, and foreign keys would want an order.
  await to`set local session_replication_role = replica`;
  await to.unsafe(`truncate ${tables.join(", ")} cascade`);
  let rows = 0;
  for (const table of tables) {
    const columns = (target.get(table) ?? []).filter((name) => source.get(table)?.includes(name)).join(", ");
    const text = await from.unsafe(`copy ${table} (${columns}) to stdout`).readable();
    await pipeline(text, await to.unsafe(`copy ${table} (${columns}) from stdin`).writable());
    const [counted] = await to.unsafe(`select count(*)::int as rows from ${table}`);
    rows += counted?.rows;
  }
  await copySequences(from, to);
  return { rows, unread: await copyWebhookSecrets(from, to) };
}

const OURS = "('auth', 'storage', 'keyframe', 'keyframe_private')";

/** Table → its columns, without those that Postgres computes. Unlogged tables tell of one server's workers and requests: they stay. */
async function columnsOf(sql: postgres.TransactionSql): Promise<Map<string, string[]>> {
  const rows = await sql.unsafe<{ table: string; columns: string[] }[]>(`
    select format('%I.%I', n.nspname, c.relname) as table, array_agg(format('%I', a.attname) order by a.attnum) as columns
    from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
    where n.nspname in ${OURS} and c.relkind = 'r' and c.relpersistence = 'p'
      and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    group by n.nspname, c.relname order by 1`);
  return new Map(rows.map(({ table, columns }) => [table, columns]));
}

async function copySequences(from: postgres.TransactionSql, to: postgres.TransactionSql): Promise<void> {
  const sequences = await from.unsafe<{ name: string; last: string }[]>(`
    select format('%I.%I', schemaname, sequencename) as name, last_value::text as last from pg_sequences
    where schemaname in ${OURS} and last_value is not null`);
  for (const { name, last } of sequences) {
    await to`select setval(to_regclass(${name}), ${last}::bigint) where to_regclass(${name}) is not null`;
  }
}

/**
 * Another Vault has another key, so each secret is decrypted there and encrypted here, and gets a new id. Returns the endpoints with a
 * secret that cannot be decrypted or is missing, as after a restore: their row keeps the old id, which names no secret here.
 */
async function copyWebhookSecrets(from: postgres.TransactionSql, to: postgres.TransactionSql): Promise<string[]> {
  const unread = new Set<string>();
  const secrets = await from<{ id: string; endpoint: string }[]>`
    select vault_secret_id as id, endpoint_id as endpoint from keyframe_private.webhook_secrets
    where expires_at is null or expires_at > now()`;
  for (const { id, endpoint } of secrets) {
    const secret = await readSecret(from, id);
    if (!secret) {
      unread.add(endpoint);
      continue;
    }
    await to`
      update keyframe_private.webhook_secrets
      set vault_secret_id = vault.create_secret(${secret.secret}, ${secret.name}, ${secret.description})
      where vault_secret_id = ${id}`;
  }
  return [...unread];
}

type Secret = { name: string; description: string; secret: string };

async function readSecret(from: postgres.TransactionSql, id: string): Promise<Secret | undefined> {
  try {
    const [secret] = await from.savepoint(
      (read) => read<Secret[]>`
      select name, description, decrypted_secret as secret from vault.decrypted_secrets where id = ${id}`,
    );
    return secret;
  } catch (error) {
    // 22: the Vault cannot decrypt it; 39: pgcrypto of the stand-in cannot. Anything else concerns all of them.
    if (error instanceof postgres.PostgresError && /^(22|39)/.test(error.code)) return undefined;
    throw error;
  }
}

runMain(HELP, main);

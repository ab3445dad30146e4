import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { installExtensions } from "../../local/extensions/install-extensions.ts";
import { bootstrapPlatform } from "../../local/platform/bootstrap-platform.ts";
import { removePostgresData } from "../../local/postgres/server-user.ts";
import { type RunningPostgres, startPostgres } from "../../local/postgres/start-postgres.ts";
import { applyMigrations } from "../../local/stack/apply-migrations.ts";
import { runCommand } from "../support/tools/run-command.ts";

// Two servers start, one of them several times.

let folder: string;
let dataDir: string;
let server: RunningPostgres;
let sql: postgres.Sql;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "keyframe-move-"));
  await Deno.chmod(folder, 0o755);
  dataDir = join(folder, "stack");
  server = await startPostgres({ dataDir: join(folder, "own"), durable: false });
  sql = postgres(server.url, { max: 1, onnotice: () => undefined });
  await bootstrapPlatform(sql);
  await installExtensions(sql, { useReal: false });
  await applyMigrations(server.url, join(folder, "home"));
});
afterAll(async () => {
  await sql.end({ timeout: 1 });
  await server.stop();
  await removePostgresData(join(folder, "own"));
  await removePostgresData(join(dataDir, "postgres"));
  await rm(folder, { recursive: true });
});

const move = (from = server.url) => runCommand("tools/move.ts", ["--from", from, "--data", dataDir]).ended;

/** Table → its rows as text, of all that move copies; without the ids of Vault entries, which are made anew. */
async function everyRow(at: postgres.Sql): Promise<Record<string, string[]>> {
  const tables = await at<{ name: string }[]>`
    select oid::regclass::text as name from pg_class
    where relnamespace::regnamespace::text in ('auth', 'storage', 'keyframe', 'keyframe_private')
      and relkind = 'r' and relpersistence = 'p' order by 1`;
  const rows: Record<string, string[]> = {};
  for (const { name } of tables) {
    const found = await at.unsafe(`select (to_jsonb(t) - 'vault_secret_id')::text as row from ${name} t order by 1`);
    rows[name] = found.map(({ row }) => row);
  }
  return rows;
}

const secrets = (at: postgres.Sql) => at`
  select endpoint_id, decrypted_secret from keyframe_private.webhook_secrets s
  join vault.decrypted_secrets v on v.id = s.vault_secret_id`;

const addEndpoint = async (owner: string) => {
  const [endpoint] = await sql`insert into keyframe.webhook_endpoints (owner_id, url)
    values (${owner}, 'https://crm.example.com/keyframe') returning id`;
  return String(endpoint?.id);
};

test("move → users, rows, sequences, jobs and webhook secrets are there, but no kick; a second one is refused", async () => {
  const [user] = await sql`insert into auth.users (id, email) values (gen_random_uuid(), 'a@film.local') returning id`;
  const prompt = 'A harbour,\n"quoted", with a \\ and fog';
  await sql`insert into keyframe.projects (owner_id, title, text_prompt, created_at) values
    (${user?.id}, 'Harbour', ${prompt}, '2026-01-02 03:04:05.678901+00')`;
  const signed = await addEndpoint(user?.id);
  const before = await secrets(sql);
  expect(before.map(({ endpoint_id }) => endpoint_id)).toEqual([signed]);
  const [damaged, missing] = [await addEndpoint(user?.id), await addEndpoint(user?.id)];
  const of = (endpoint: string) => sql`select vault_secret_id from keyframe_private.webhook_secrets
    where endpoint_id = ${endpoint}`;
  await sql`update vault.secrets set secret = 'AAAA' || secret where id in (${of(damaged)})`;
  await sql`delete from vault.secrets where id in (${of(missing)})`;
  await sql`insert into keyframe_private.worker_heartbeats (function_name, claimed_at) values ('deliver', now())`;
  await sql`insert into keyframe_private.kicks (function_name, request_id) values ('deliver', 1)`;

  const { code, said } = await move();
  expect([code, said]).toEqual([0, expect.stringMatching(/^\d+ rows are copied/)]);
  const named =
    /cannot be read and are not copied: (.+)\. Their deliveries fail with not_signed until you rotate/.exec(
      said,
    )?.[1] ?? "";
  expect(named.split(", ").sort()).toEqual([damaged, missing].sort());
  const embedded = await startPostgres({ dataDir: join(dataDir, "postgres"), durable: false });
  const moved = postgres(embedded.url, { max: 1, onnotice: () => undefined });
  try {
    expect(await everyRow(moved)).toEqual(await everyRow(sql));
    expect([...(await secrets(moved))]).toEqual([...before]);
    const [unread] = await moved`select keyframe_private.webhook_secrets_of(${damaged}) as secrets`;
    expect(unread).toEqual({ secrets: [] });
    const unlogged = await moved`select function_name from keyframe_private.kicks union all
      select function_name from keyframe_private.worker_heartbeats`;
    expect([...unlogged]).toEqual([]);
    const jobs = await moved`select jobname from cron.job where jobname like 'keyframe-%'`;
    expect(jobs.length).toBeGreaterThan(3);
    const sequences = (at: postgres.Sql) => at`select schemaname, sequencename, last_value from pg_sequences
      where schemaname in ('keyframe', 'keyframe_private') order by 1, 2`;
    expect([...(await sequences(moved))]).toEqual([...(await sequences(sql))]);
  } finally {
    await moved.end({ timeout: 1 });
    await embedded.stop();
  }
  expect(await move()).toMatchObject({ code: 1, error: expect.stringContaining("has projects or users already") });
});

test("a source that cannot be moved → refused in one line that says what to do, before anything of the target is made", async () => {
  const data = join(folder, "untouched");
  const refused = async (from: string, said: RegExp) => {
    expect(await runCommand("tools/move.ts", ["--from", from, "--data", data]).ended).toMatchObject({
      code: 1,
      error: expect.stringMatching(new RegExp(`^${said.source}.*\n$`)),
    });
    await expect(Deno.stat(data)).rejects.toThrow(Deno.errors.NotFound);
  };
  const other = (parts: Partial<URL>) => Object.assign(new URL(server.url), parts).href;
  const stack = postgres(server.url, { max: 1, connection: { application_name: "keyframe-platform" } });
  await stack`select 1`;
  await refused(server.url, /A stack still runs .*stop it first/);
  await stack.end({ timeout: 1 });
  await sql`create database empty`;
  await refused(other({ pathname: "/empty" }), /That Postgres has no Keyframe: compare --from/);
  await refused("film", /--from must be an address/);
  await refused(
    other({ port: "1" }),
    /The Postgres of --from cannot be reached \(.*ECONNREFUSED.*\): start it, or compare/,
  );
  await refused(other({ pathname: "/missing" }), /.* cannot be reached \(database "missing" does not exist\): /);
  await refused(other({ password: "%" }), /.* cannot be reached \(.*\): /);
  await sql`create role reader login password 'reader'`;
  await refused(
    other({ username: "reader", password: "reader" }),
    /Nothing was copied, because Postgres refused \(permission denied .*\)\. --from takes the superuser/,
  );
  await sql`update supabase_migrations.schema_migrations set statements = statements || '{select 1}' where name ~ '^keyframe_'`;
  await refused(server.url, /.* migrations of another version: start this checkout on it once, then move/);
});

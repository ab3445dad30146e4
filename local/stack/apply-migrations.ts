import { join } from "node:path";
import type { Sql } from "postgres";
import { onServer } from "../postgres/on-server.ts";
import { PROJECT_ROOT } from "./project-root.ts";
import { readMigrations, statementsOf } from "./read-migrations.ts";
import { supabaseCli } from "./supabase-cli.ts";

const MAX_REASON_CHARACTERS = 600;

/**
 * Applies `supabase/migrations` with the Supabase CLI, as a deployment does. If the database has them all, the CLI does not run: it takes a
 * second of processor time to find that out. It also compares only versions, so an edited migration would go unnoticed.
 *
 * @param home the CLI's home folder; never the person's own
 * @param signal ends the CLI; the migration under way is rolled back
 * @param project the folder whose `supabase` folder has the migrations
 * @throws a one-line error with the CLI's message
 */
export async function applyMigrations(
  databaseUrl: string,
  home: string,
  signal?: AbortSignal,
  project = PROJECT_ROOT,
): Promise<void> {
  const applied = await readApplied(databaseUrl);
  const migrations = await readMigrations(join(project, "supabase/migrations"));
  const isEdited = migrations.some(
    ({ version, text }) => (applied.get(version) ?? statementsOf(text)) !== statementsOf(text),
  );
  if (isEdited) throw otherMigrations();
  if (applied.size === migrations.length && migrations.every(({ version }) => applied.has(version))) return;
  await Deno.mkdir(home, { recursive: true });
  const url = new URL(databaseUrl);
  const password = decodeURIComponent(url.password);
  url.password = "";
  // The password goes into the environment, because every user of the machine can read a command line.
  const { code, stdout, stderr } = await supabaseCli(["db", "push", `--remote=${url.href}`, "--yes"], home, {
    env: { PGPASSWORD: password },
    project,
    signal,
  });
  if (code === 0) return;
  const lines = `${stdout}\n${stderr}`.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("WARN:"));
  const began = lines.findLastIndex((line) => line.startsWith("Applying migration"));
  const message = lines.slice(Math.max(began, 0)).join(" ");
  if (/inserted before the last migration|not found in local migrations/.test(message)) {
    throw otherMigrations();
  }
  throw new Error(`The migrations could not be applied: ${message.slice(0, MAX_REASON_CHARACTERS)}`);
}

/** The applied migrations: version → statements, null where the history has none. */
async function readApplied(databaseUrl: string): Promise<Map<string, string | null>> {
  const rows = await onServer(
    databaseUrl,
    (sql) => sql<{ version: string; text: string | null }[]>`
      select version, array_to_string(statements, ' ') as text from supabase_migrations.schema_migrations`,
  ).catch(() => []); // there is no such table, or the CLI says what is wrong
  return new Map(rows.map(({ version, text }) => [version, text === null ? null : statementsOf(text)]));
}

const otherMigrations = () =>
  new Error(
    "The data folder was made by another version of the migrations. Start the checkout that made it, or use `--reset`, which deletes the data and starts again.",
  );

/** Creates or updates secrets in Vault by name. `keyframe_private.kick` reads them. */
export async function fillVault(sql: Sql, secrets: Record<string, string>): Promise<void> {
  for (const [name, secret] of Object.entries(secrets)) {
    const [kept] = await sql<{ id: string }[]>`select id from vault.secrets where name = ${name}`;
    if (kept) await sql`select vault.update_secret(${kept.id}, ${secret})`;
    else await sql`select vault.create_secret(${secret}, ${name})`;
  }
}

const ORIGINAL_MS = 2_000;

/**
 * Lets the database work for the stack at `url`, unless it is a copy: the original may run, and would submit and send the same. A stack with
 * these keys at the database's address is the original. If none answers there, this stack has another port than before.
 *
 * @param secretKey a copied data folder has that of its original
 * @returns what to say of a copy
 */
export async function adoptAddress(sql: Sql, url: string, secretKey: string): Promise<string | undefined> {
  const [found] = await sql<{ address: string | null; used: boolean }[]>`
    select keyframe_private.address() as address, exists (select from keyframe.predictions) as used`;
  const { address = null, used = false } = found ?? {};
  const isCopy = address === null ? used : address !== url && (await mayBeOriginal(address, secretKey));
  if (isCopy) {
    const original = address ?? "a project that its Vault does not name";
    return `The data folder is a copy of ${original}: nothing is submitted or sent here. See "Restore a backup" in docs/upgrade.md, then: npm run sql -- "select keyframe_private.set_address('${url}')"`;
  }
  await sql`select keyframe_private.set_address(${url})`;
  return undefined;
}

async function mayBeOriginal(address: string, secretKey: string): Promise<boolean> {
  if (!/^http:\/\/(127\.0\.0\.1|localhost):/.test(address)) return true;
  const signal = AbortSignal.timeout(ORIGINAL_MS);
  try {
    const health = `${address}/functions/v1/api/health?deep=1`;
    const answer = await fetch(health, { headers: { apikey: secretKey }, signal });
    await answer.body?.cancel();
    return answer.ok;
  } catch {
    return signal.aborted;
  }
}

import { createHash } from "node:crypto";
import { join } from "node:path";
import type postgres from "postgres";
import { z } from "zod";
import type { World } from "../world.ts";

/**
 * A condition that holds at the end of every run. `broken` is a query over our tables and the ledger's: each row it
 * returns is a violation, described in its column `broken`.
 */
export type Invariant = {
  sentence: string;
  broken: string;
  /** Only a row that is found twice, ten seconds apart, is a violation. */
  lasting?: true;
};

/** The records of users, receivers, the provider and the disk. A field without a column in its table is left out. */
const TABLES = `
  create table chaos.starts (key text, prompt text, project_id uuid, prediction_id uuid, owner_id uuid, reference text, refusal text);
  create index on chaos.starts (prompt);
  create index on chaos.starts (reference);
  create table chaos.answers (key text, what text, id text, owner_id uuid);
  create table chaos.deletions (id uuid);
  create table chaos.resubscribed (hook text);
  create table chaos.credits (key text, owner_id uuid, micros bigint);
  create table chaos.refusals (status int, retry_after boolean);
  create table chaos.statuses (n int, reader uuid, prediction_id uuid, status text);
  create table chaos.arrivals (hook text, event_id uuid, type text, body_md5 text, taken int, misbehaved int);
  create index on chaos.arrivals (event_id, hook);
  create table chaos.forged (hook text, id text);
  create table chaos.runs (id text, status text, prompt text, made_for uuid, has_file boolean, cancel_requested boolean,
    callback_accepted boolean, billed_micros bigint);
  create index on chaos.runs (prompt);
  create table chaos.files (bucket text, name text, bytes bigint, sha256 text);
  create index on chaos.files (name);`;

/** Writes the tables of a run of the whole stack. */
export async function writeLedger({ sql, stack, ledger, receivers, dataDir }: World): Promise<void> {
  const rows = {
    ...ledger,
    ...receivers.results(),
    runs: await runsAtProvider(stack.simulator?.url ?? ""),
    files: await filesInStorage(join(dataDir, "storage")),
  };
  await writeTables(sql, rows);
  await sql`analyze`;
}

/** Makes the tables in the schema chaos, which is there, and fills those that are named. */
export const writeTables = (sql: postgres.Sql, rows: Record<string, readonly object[]>): Promise<unknown> =>
  sql.begin(async (transaction) => {
    await transaction.unsafe(TABLES);
    for (const [name, list] of Object.entries(rows)) await insert(transaction, `chaos.${name}`, list);
  });

const insert = (sql: postgres.TransactionSql, table: string, list: readonly object[]) => sql`
  insert into ${sql(table)}
  select r.* from jsonb_populate_recordset(null::${sql(table)}, ${JSON.stringify(list)}::text::jsonb) r`;

const made = z.array(
  z.object({
    id: z.string(),
    status: z.string(),
    input: z.looseObject({ prompt: z.string().default("") }),
    webhook: z.url(),
    cancel_requested: z.boolean(),
    callback_accepted: z.boolean(),
  }),
);

const bills = z.array(z.object({ id: z.string(), micros: z.int() }));

/** Every provider run that the simulator made, with its prediction and what was billed for it. */
export async function runsAtProvider(simulatorUrl: string) {
  const read = async (path: string): Promise<unknown> => (await fetch(`${simulatorUrl}/control/${path}`)).json();
  const billed = new Map(bills.parse(await read("account")).map(({ id, micros }) => [id, micros]));
  return made.parse(await read("predictions")).map(({ input, webhook, ...run }) => ({
    ...run,
    billed_micros: billed.get(run.id) ?? null,
    prompt: input.prompt,
    made_for: new URL(webhook).searchParams.get("prediction"),
    has_file: Object.values(input)
      .flat()
      .some((value) => typeof value === "string" && URL.canParse(value)),
  }));
}

const entrySchema = z.object({ bucket: z.string(), key: z.string(), file: z.string() });

/** Every complete file in the local Storage (local/platform/storage-files.ts). */
async function filesInStorage(storageFolder: string) {
  const files: { bucket: string; name: string; bytes: number; sha256: string }[] = [];
  for await (const folder of foldersOf(storageFolder)) {
    const text = await Deno.readTextFile(join(folder, "entry.json")).catch(() => null);
    if (text === null) continue;
    const { bucket, key, file } = entrySchema.parse(JSON.parse(text));
    const bytes = await Deno.readFile(join(folder, file));
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    files.push({ bucket, name: key, bytes: bytes.length, sha256 });
  }
  return files;
}

async function* foldersOf(root: string): AsyncGenerator<string> {
  for await (const { name: first } of Deno.readDir(root)) {
    for await (const { name } of Deno.readDir(join(root, first))) yield join(root, first, name);
  }
}

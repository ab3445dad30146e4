import { createHash } from "node:crypto";
import { join } from "node:path";
import type postgres from "postgres";
import { z } from "zod";
import { MISCOUNTED_TABLE } from "../database-faults.ts";
import type { Receivers } from "../receivers.ts";
import type { Ledger } from "../world.ts";

/**
 * A condition that holds at the end of every run. `broken` is a query over our tables and the ledger's: each row it
 * returns is a violation, described in its column `broken`.
 */
export type Invariant = {
  sentence: string;
  broken: string;
  /** Only a row that is found twice, two seconds apart, is a violation. */
  lasting?: true;
};

/** When an object got its present content: its row's insertion, replacement or renaming. */
const RECORDED_OBJECTS_TABLE =
  "create table if not exists chaos.recorded_objects (bucket text, name text, at timestamptz, primary key (bucket, name))";

/**
 * Records which files ever had a row. Storage, local and hosted, writes a file before its row; when Postgres or the
 * gateway stops between the two, the upload fails and the file stays, unreadable. Such a file breaks no invariant; one
 * that had a row does.
 */
export async function recordObjects(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`
    ${RECORDED_OBJECTS_TABLE};
    create function chaos.record_object() returns trigger language plpgsql security definer set search_path = '' as $$
    begin
      insert into chaos.recorded_objects values (new.bucket_id, new.name, clock_timestamp())
      on conflict (bucket, name) do update set at = excluded.at;
      return null;
    end $$;
    create trigger _050_chaos after insert or update of name, version on storage.objects
      for each row execute function chaos.record_object();`);
}

/** Files (of chaos.files f) that have had no row since they were written. */
export const NEVER_RECORDED =
  "not exists (select from chaos.recorded_objects s where s.bucket = f.bucket and s.name = f.name and s.at >= f.written_at)";

const TABLES = `
  create schema if not exists chaos;
  ${MISCOUNTED_TABLE};
  ${RECORDED_OBJECTS_TABLE};
  create table chaos.starts (key text, prompt text, project_id uuid, prediction_id uuid, owner_id uuid, reference text, refusal text);
  create index on chaos.starts (reference);
  create table chaos.addresses (stated timestamptz, ends timestamptz);
  create index on chaos.starts (prompt);
  create table chaos.answers (key text, what text, id text);
  create table chaos.deleted_projects (project_id uuid);
  create table chaos.deleted_takes (prediction_id uuid);
  create table chaos.lost_sources (prediction_id uuid);
  create table chaos.arrivals (hook text, event_id uuid, type text, body_md5 text, valid int, stale int, taken int, misbehaved int);
  create index on chaos.arrivals (event_id, hook);
  create table chaos.forged (hook text, event_id text);
  create table chaos.runs (id text, status text, prompt text, made_for uuid, has_file boolean, cancel_asked boolean, billed_micros bigint);
  create index on chaos.runs (prompt);
  create table chaos.files (bucket text, name text, bytes bigint, sha256 text, written_at timestamptz);
  create index on chaos.files (name);
  create table chaos.status_answers (n int, reader uuid, prediction_id uuid, status text, code int);
  create table chaos.resubscribed (hook text);
  create table chaos.left_uploads (path text);
  create table chaos.wrong_clock_callbacks (what text, detail text);
  create table chaos.refusals (status int, retry_after boolean);
  create table chaos.slot_counts (slots int);
  create table chaos.probes (ms int, status int, retry_after boolean);`;

/** Rows by table. */
type LedgerRows = Record<string, readonly object[]>;

/** Creates and fills the tables with what users, receivers, the provider and the disk know, in one transaction. */
export async function writeLedger(sql: postgres.Sql, rows: LedgerRows): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction.unsafe(TABLES);
    for (const [table, all] of Object.entries(rows)) {
      const text = JSON.stringify(all);
      await transaction`
        insert into ${transaction(`chaos.${table}`)}
        select r.* from jsonb_populate_recordset(null::${transaction(`chaos.${table}`)}, ${text}::text::jsonb) r`;
    }
  });
  await sql`analyze`;
}

/** What users and receivers know. */
export function ledgerRows(ledger: Ledger, receivers: Receivers): LedgerRows {
  return {
    starts: ledger.starts.map(({ key, prompt, ownerId, projectId, reference, outcome }) => ({
      key,
      prompt,
      reference,
      owner_id: ownerId,
      project_id: projectId,
      prediction_id: typeof outcome === "object" && "accepted" in outcome ? outcome.accepted : null,
      refusal: typeof outcome === "object" && "refused" in outcome ? outcome.refused : null,
    })),
    addresses: ledger.addresses,
    answers: ledger.answers,
    deleted_projects: [...ledger.deletedProjects].map((project_id) => ({ project_id })),
    deleted_takes: [...ledger.deletedTakes].map((prediction_id) => ({ prediction_id })),
    lost_sources: [...ledger.lostSources].map((prediction_id) => ({ prediction_id })),
    forged: receivers.forged().map(({ hook, id }) => ({ hook, event_id: id })),
    arrivals: [...receivers.received.values()].map(({ eventId, bodyMd5, ...seen }) => ({
      ...seen,
      event_id: eventId,
      body_md5: bodyMd5,
    })),
    resubscribed: [...ledger.resubscribed].map((hook) => ({ hook })),
    left_uploads: ledger.leftUploads.map((path) => ({ path })),
    slot_counts: ledger.slotCounts.map((slots) => ({ slots })),
    probes: ledger.probes.map(({ ms, status, retryAfter }) => ({ ms, status, retry_after: retryAfter })),
    refusals: ledger.refusals.map(({ status, retryAfter }) => ({ status, retry_after: retryAfter })),
    status_answers: ledger.statusAnswers.map(({ predictionId, ...answer }, n) => ({
      ...answer,
      n,
      prediction_id: predictionId,
    })),
  };
}

const made = z.array(
  z.object({
    id: z.string(),
    status: z.string(),
    input: z.looseObject({ prompt: z.string().default("") }),
    webhook: z.url(),
    cancel_asked: z.boolean(),
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

const entrySchema = z.object({ bucket: z.string(), key: z.string(), file: z.string(), lastModified: z.string() });

/** Every complete file in the local Storage (local/platform/storage-files.ts). */
export async function filesInStorage(storageFolder: string) {
  const files: { bucket: string; name: string; bytes: number; sha256: string; written_at: string }[] = [];
  for await (const folder of foldersOf(storageFolder)) {
    const text = await Deno.readTextFile(join(folder, "entry.json")).catch(() => null);
    if (text === null) continue;
    const { bucket, key, file, lastModified } = entrySchema.parse(JSON.parse(text));
    const bytes = await Deno.readFile(join(folder, file));
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    files.push({ bucket, name: key, bytes: bytes.length, sha256, written_at: lastModified });
  }
  return files;
}

async function* foldersOf(root: string): AsyncGenerator<string> {
  for await (const { name: first } of Deno.readDir(root)) {
    for await (const { name } of Deno.readDir(join(root, first))) yield join(root, first, name);
  }
}

import { createHash } from "node:crypto";
import { join } from "node:path";
import type postgres from "postgres";
import { z } from "zod";
import { MISCOUNTED_TABLE } from "./counted-hours.ts";
import type { Ledger } from "./ledger.ts";
import type { Receivers } from "./receivers.ts";
import { SEEN_OBJECTS_TABLE } from "./seen-objects.ts";

const TABLES = `
  create schema if not exists chaos;
  ${MISCOUNTED_TABLE};
  ${SEEN_OBJECTS_TABLE};
  create table chaos.starts (key text, prompt text, project_id uuid, prediction_id uuid, reference text);
  create index on chaos.starts (reference);
  create table chaos.addresses (told timestamptz, ends timestamptz);
  create index on chaos.starts (prompt);
  create table chaos.answers (key text, what text, id text);
  create table chaos.deleted_projects (project_id uuid);
  create table chaos.arrivals (slot text, event_id uuid, type text, body_md5 text, valid int, stale int, taken int, misbehaved int);
  create index on chaos.arrivals (event_id, slot);
  create table chaos.forged (slot text, event_id text);
  create table chaos.runs (id text, status text, prompt text, made_for uuid, has_file boolean, cancel_asked boolean);
  create index on chaos.runs (prompt);
  create table chaos.files (bucket text, name text, bytes bigint, sha256 text, written_at timestamptz);
  create index on chaos.files (name);
  create table chaos.tellings (n int, reader uuid, prediction_id uuid, status text, code int);
  create table chaos.resubscribed (slot text);
  create table chaos.left_uploads (path text);
  create table chaos.stray_callbacks (what text, detail text);
  create table chaos.refusals (status int, retry_after boolean);
  create table chaos.connections (who text, what text);
  create table chaos.places (places int);
  create table chaos.probes (ms int, status int, retry_after boolean);`;

export type LedgerRows = Record<
  | "starts"
  | "addresses"
  | "answers"
  | "deleted_projects"
  | "arrivals"
  | "forged"
  | "runs"
  | "files"
  | "probes"
  | "refusals"
  | "tellings"
  | "left_uploads"
  | "resubscribed"
  | "stray_callbacks"
  | "connections"
  | "places",
  readonly object[]
>;

/**
 * Makes the tables of what users, receivers, the provider and the disk know, and fills them, so that promises can be
 * queries. All or nothing.
 */
export async function writeLedger(sql: postgres.Sql, rows: Partial<LedgerRows>): Promise<void> {
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
export function ledgerRows(ledger: Ledger, receivers: Receivers): Partial<LedgerRows> {
  return {
    starts: ledger.starts.map(({ key, prompt, projectId, reference, outcome }) => ({
      key,
      prompt,
      reference,
      project_id: projectId,
      prediction_id: typeof outcome === "object" && "accepted" in outcome ? outcome.accepted : null,
    })),
    addresses: ledger.addresses,
    answers: ledger.answers,
    deleted_projects: [...ledger.deletedProjects].map((project_id) => ({ project_id })),
    forged: receivers.forged().map(({ slot, id }) => ({ slot, event_id: id })),
    arrivals: [...receivers.seen.values()].map(({ eventId, bodyMd5, ...seen }) => ({
      ...seen,
      event_id: eventId,
      body_md5: bodyMd5,
    })),
    resubscribed: [...ledger.resubscribed].map((slot) => ({ slot })),
    left_uploads: ledger.leftUploads.map((path) => ({ path })),
    places: ledger.places.map((places) => ({ places })),
    probes: ledger.probes.map(({ ms, status, retryAfter }) => ({ ms, status, retry_after: retryAfter })),
    refusals: ledger.refusals.map(({ status, retryAfter }) => ({ status, retry_after: retryAfter })),
    tellings: ledger.tellings.map(({ predictionId, ...telling }, n) => ({
      ...telling,
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

/** Every run that the provider made, and so charged, and for which prediction. */
export async function runsAtProvider(simulatorUrl: string) {
  const response = await fetch(`${simulatorUrl}/control/predictions`);
  return made.parse(await response.json()).map(({ input, webhook, ...run }) => ({
    ...run,
    prompt: input.prompt,
    made_for: new URL(webhook).searchParams.get("prediction"),
    has_file: Object.values(input)
      .flat()
      .some((value) => typeof value === "string" && URL.canParse(value)),
  }));
}

const entrySchema = z.object({ bucket: z.string(), key: z.string(), file: z.string(), lastModified: z.string() });

/** Every file that the local Storage keeps whole (local/platform/storage-files.ts), with what is in it. */
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

import { z } from "zod";
import { oneLine } from "../../local/stack/command-line.ts";
import { readMigrations } from "../../local/stack/read-migrations.ts";
import { jsonText } from "../../shared/platform/environment.ts";
import { onThrowAwayDatabase } from "../throw-away-database.ts";
import { modelRow, type ModelRow } from "./row-inputs.ts";

/** The source of the rows to check. */
export type RowSource = { from: "migrations" } | { from: "project"; url: string; secretKey: string };

/** Reads the rows. Throws CheckFailed when they cannot be read or there are none. */
export async function readRows(source: RowSource, signal: AbortSignal): Promise<ModelRow[]> {
  const rows = await read(source, signal);
  if (rows.length === 0) throw new CheckFailed(`models has no rows in ${nameRows(source)}.`);
  return rows;
}

const read = (source: RowSource, signal: AbortSignal): Promise<ModelRow[]> =>
  source.from === "project"
    ? rowsFromProject(source.url, source.secretKey, abortable(signal))
    : rowsFromMigrations(signal);

/** The source, without the key. */
export const nameRows = (source: RowSource): string =>
  source.from === "project" ? `the project ${source.url}` : "this repository's migrations";

/** Reads the rows that the migrations insert. */
const rowsFromMigrations = (signal: AbortSignal): Promise<ModelRow[]> =>
  onThrowAwayDatabase(async (sql) => {
    for (const { text } of await readMigrations()) {
      signal.throwIfAborted();
      await sql.begin((each) => each.unsafe(text));
    }
    const rows = await sql`
      select m.*, exists (select from keyframe.step_defaults d where d.step = m.step and d.model = m.model) as is_default
      from keyframe.models m order by m.step, m.position, m.model`;
    return z.array(modelRow).parse([...rows]);
  });

/** A row as the Data API gives it: `step_defaults` has something in it for a default. */
const projectRow = modelRow
  .omit({ is_default: true })
  .extend({ step_defaults: z.unknown() })
  .transform(({ step_defaults, ...row }): ModelRow => ({ ...row, is_default: [step_defaults].flat().some(Boolean) }));

const TIMEOUT_MS = 30_000;

/** Reads the rows through a project's Data API with its secret key. Throws CheckFailed without the key. */
export async function rowsFromProject(url: string, secretKey: string, fetcher: typeof fetch): Promise<ModelRow[]> {
  const query = "select=step,model,controls,fixed,step_defaults(step)&order=step,position,model";
  const address = `${url.replace(/\/+$/, "")}/rest/v1/models`;
  const headers = { apikey: secretKey, authorization: `Bearer ${secretKey}`, "accept-profile": "keyframe" };
  const { status, text } = await getText(`${address}?${query}`, headers, fetcher);
  if (status === 401 || status === 403) {
    throw new CheckFailed(`${address} refuses the key (${status}): it has to be the project's secret key.`);
  }
  if (status !== 200) throw new CheckFailed(`${address} answered ${status}: ${text.slice(0, 200)}`);
  const parsed = jsonText.pipe(z.array(projectRow)).safeParse(text);
  if (!parsed.success) throw new CheckFailed(`${address} answered with no rows of models: is SUPABASE_URL right?`);
  return parsed.data;
}

/** Sends a GET with a secret. Throws CheckFailed when there is no answer. */
export async function getText(
  url: string,
  headers: Record<string, string>,
  fetcher: typeof fetch,
): Promise<{ status: number; text: string }> {
  try {
    // Redirects are not followed: the secret is for this host only.
    const init: RequestInit = { headers, redirect: "manual", signal: AbortSignal.timeout(TIMEOUT_MS) };
    const response = await fetcher(url, init);
    return { status: response.status, text: await response.text() };
  } catch (error) {
    throw new CheckFailed(`${url.split("?")[0]} cannot be reached: ${oneLine(error)}`);
  }
}

/** A fetch whose every request also ends with `signal`. */
export function abortable(signal: AbortSignal): typeof fetch {
  return (input, init) =>
    fetch(input, { ...init, signal: AbortSignal.any([signal, ...(init?.signal ? [init.signal] : [])]) });
}

/** The check was not possible, which says nothing about the rows: no network, a wrong token, no such database. */
export class CheckFailed extends Error {}

import { buildInput } from "../../../../shared/replicate/build-input.ts";
import type { FoundBy, RecordOutcome } from "../../../../shared/replicate/provider-prediction.ts";
import type { Deps } from "../deps.ts";
import type { ListedPrediction, Provider } from "./provider.ts";
import type { SoughtTask } from "../tasks/task.ts";
import { wantedFiles } from "../files/input-files.ts";

/** The database's clock, which `search_since` is of, may be ten minutes ahead of the provider's. */
const SLACK_MS = 11 * 60_000;
/** With 100 runs on each, these reach back ten minutes at the most that one account may create (600 a minute). */
const MOST_PAGES = 70;

/** Thrown when the list did not end: then nobody knows whether a run is in it. */
export class SearchTooLong extends Error {}

/**
 * Records the runs at the provider that come from an earlier submit of this prediction whose answer was lost, newest first, and
 * yields what came of each. Equal text proves nothing, so the database decides about a run that only that speaks for.
 * Throws ProviderError, SearchTooLong and DatabaseError.
 */
export async function* recordOrphans(
  task: SoughtTask,
  { provider, database, log }: Pick<Deps, "provider" | "database" | "log">,
  signal: AbortSignal,
): AsyncGenerator<RecordOutcome> {
  let unproven = 0;
  for await (const { run, foundBy } of findOrphans(task, provider, signal)) {
    const outcome = await database.recordState(task, run, foundBy);
    if (outcome === "unproven") unproven += 1;
    // unknown: it belongs to another prediction with the same text.
    if (outcome === "unproven" || outcome === "unknown") continue;
    log.info("orphan_found", { predictionId: task.id, outcome });
    yield outcome;
  }
  if (unproven > 0) log.warn("orphan_unproven", { predictionId: task.id, runs: unproven });
}

async function* findOrphans(
  task: SoughtTask,
  provider: Provider,
  signal: AbortSignal,
): AsyncGenerator<{ run: ListedPrediction; foundBy: FoundBy }> {
  if (task.search_since === null) return;
  const since = new Date(task.search_since.getTime() - SLACK_MS);
  let query: string | null = null;
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const page: Awaited<ReturnType<Provider["list"]>> = await provider.list(since, query, signal);
    for (const run of page.runs) {
      const foundBy = await compare(run, task, provider, signal);
      if (foundBy !== null) yield { run, foundBy };
    }
    const oldest = Date.parse(page.runs.at(-1)?.created_at ?? "");
    if (page.next === null || oldest < since.getTime()) return;
    query = page.next;
  }
  throw new SearchTooLong(`the provider's list since ${since.toISOString()} has more than ${MOST_PAGES} pages`);
}

/** What speaks for a run being this prediction's: its callback address or a file of its input names it, or an equal text. */
async function compare(
  run: ListedPrediction,
  task: SoughtTask,
  provider: Provider,
  signal: AbortSignal,
): Promise<FoundBy | null> {
  // The documented list shows none.
  if (run.webhook) return namedPrediction(run.webhook) === task.id ? "name" : null;
  const { prompt_field, reference_field, first_frame_field, last_frame_field } = task.model_settings;
  // Of these fields alone the addresses are ours; a prompt may be any address.
  const files = [reference_field, first_frame_field, last_frame_field].flatMap((field) =>
    field === null ? [] : (run.input[field] ?? []),
  );
  if (files.some((file) => namedPrediction(file) === task.id)) return "name";
  if (run.model !== task.model || run.input[prompt_field] !== task.prompt) return null;
  for (const file of files) {
    if (typeof file === "string" && (await provider.uploadedFor(file, signal)) === task.id) return "name";
  }
  const hasFiles = Object.values(wantedFiles(task)).some((file) => file !== null);
  return !hasFiles && inOrder(run.input) === inOrder(textInput(task)) ? "text" : null;
}

/** The prediction that an address names (see input-files.ts, and the callback address in submit.ts). */
function namedPrediction(address: unknown): string | null {
  if (typeof address !== "string" || !URL.canParse(address)) return null;
  return new URL(address).searchParams.get("prediction");
}

function textInput({ step, prompt, duration_seconds: durationSeconds, model_settings }: SoughtTask) {
  const noFiles = { reference: null, firstFrame: null, lastFrame: null };
  return buildInput({ step, prompt, durationSeconds, ...noFiles }, model_settings);
}

/** The same text for equal values, in whatever order their fields stand. */
function inOrder(input: unknown): string {
  return JSON.stringify(input, (_key, value: unknown) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

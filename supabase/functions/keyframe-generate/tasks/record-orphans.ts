import { buildInput, UnsupportedInput } from "../../../../shared/replicate/build-input.ts";
import type { Found } from "../../../../shared/replicate/report-run.ts";
import type { ListedPrediction, Provider } from "../provider/provider.ts";
import type { Deps } from "./database.ts";
import type { SearchingTask } from "./task.ts";

/** `search_since` is by the database's clock, which may be ten minutes ahead of the provider's. */
const SLACK_MINUTES = 11;
/** A submit is searched for within this time, unless the provider or all workers are down. */
const MAX_AGE_MINUTES = 10;
/** An account creates at most 600 runs a minute, and a page lists 100. */
const PAGES_PER_MINUTE = 6;
const MAX_PAGES = PAGES_PER_MINUTE * (SLACK_MINUTES + MAX_AGE_MINUTES);

/** The list has too many pages to search for a run. Later it has even more. */
export class SearchTooLong extends Error {}

/**
 * Reads the provider's list, newest first, and records each run that may belong to an unanswered submit of this prediction. The database
 * accepts or refuses each. `found`: the runs that it accepted; the search stops after `maxFound` of them. `unproven`: the runs with an equal
 * text that it refused, because another prediction may have made them. Throws ProviderError, SearchTooLong, DatabaseError.
 */
export async function recordOrphans(
  task: SearchingTask,
  { provider, database, log }: Pick<Deps, "provider" | "database" | "log">,
  signal: AbortSignal,
  maxFound = Number.POSITIVE_INFINITY,
): Promise<{ found: number; unproven: number }> {
  let [found, unproven] = [0, 0];
  if (task.search_attempt === null) return { found, unproven };
  const sought = { id: task.id, attempt: task.search_attempt };
  const attempt_without_run = task.task === "submit" ? task.attempt : null;
  for await (const run of listRuns(task, provider, signal)) {
    const found_by = await compare(run, task, provider, signal);
    if (found_by === null) continue;
    // A submit passes its own lease, because its search ends with the run that it finds.
    const outcome = await database.reportRun(sought, run, task.task === "submit" ? task : null, {
      found_by,
      attempt_without_run,
    });
    if (outcome === "unproven") unproven += 1;
    // unknown: the run belongs to another prediction with the same text. replaced: the run failed, and its prediction is submitted again.
    if (["unproven", "unknown", "replaced"].includes(outcome)) continue;
    log.info("orphan_found", { predictionId: task.id, outcome });
    found += 1;
    if (found === maxFound) return { found, unproven };
  }
  if (unproven > 0) log.warn("orphan_unproven", { predictionId: task.id, runs: unproven });
  return { found, unproven };
}

/** The account's runs since the submit, newest first. */
async function* listRuns(
  { search_since }: SearchingTask,
  provider: Provider,
  signal: AbortSignal,
): AsyncGenerator<ListedPrediction> {
  if (search_since === null) return;
  const since = new Date(search_since.getTime() - SLACK_MINUTES * 60_000);
  let query: string | null = null;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page: Awaited<ReturnType<Provider["list"]>> = await provider.list(since, query, signal);
    yield* page.runs;
    const oldest = Date.parse(page.runs.at(-1)?.created_at ?? "");
    if (page.next === null || oldest < since.getTime()) return;
    query = page.next;
  }
  throw new SearchTooLong(`the provider's list since ${since.toISOString()} has more than ${MAX_PAGES} pages`);
}

/** Why a run may belong to this prediction: its callback URL or an input file names it, or its text is equal. Null: no reason. */
async function compare(
  run: ListedPrediction,
  task: SearchingTask,
  provider: Provider,
  signal: AbortSignal,
): Promise<Found["found_by"] | null> {
  // Replicate's documentation shows no webhook in the list, but its API may return it.
  if (run.webhook) return namedPrediction(run.webhook) === task.id ? "name" : null;
  const { prompt, referenceImages, firstFrame, lastFrame } = task.model_settings.controls;
  // Only the URLs of these fields are ours, because a prompt can be any URL.
  const files = [referenceImages, firstFrame, lastFrame].flatMap((control) =>
    control === undefined ? [] : (run.input[control.field] ?? []),
  );
  if (files.some((file) => namedPrediction(file) === task.id)) return "name";
  // The list names a model without its version.
  if (run.model !== task.model.split(":")[0] || run.input[prompt.field] !== task.input.prompt) return null;
  for (const file of files) {
    if (typeof file === "string" && (await provider.uploadedFor(file, signal)) === task.id) return "name";
  }
  if (task.has_images) return null;
  const { isDeepStrictEqual } = await import("node:util"); // a start seldom needs it
  return isDeepStrictEqual(run.input, textInput(task)) ? "text" : null;
}

/** The prediction that is named in a URL made by submit.ts: of an input file or of the callback. */
function namedPrediction(address: unknown): string | null {
  if (typeof address !== "string" || !URL.canParse(address)) return null;
  return new URL(address).searchParams.get("prediction");
}

/** The input of a submit without files, or null if the model's row has changed so that the input cannot be made again. */
function textInput({ step, input, model_settings }: SearchingTask): Record<string, unknown> | null {
  const files = { firstFrame: null, lastFrame: null, references: [] };
  try {
    return buildInput({ step, input, files }, model_settings);
  } catch (error) {
    if (error instanceof UnsupportedInput) return null;
    throw error;
  }
}

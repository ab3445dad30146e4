import { buildInput, UnsupportedInput } from "../../../shared/provider/build-input.ts";
import type { ListedPrediction, Provider } from "./provider.ts";
import type { SoughtTask } from "./task.ts";
import { wantedFiles } from "./wanted-files.ts";

/** The database's clock, which `search_since` is of, may be ten minutes ahead of the provider's. */
const SLACK_MS = 11 * 60_000;
/** With 100 runs on each, these reach back ten minutes at the most that one account may create (600 a minute). */
const MOST_PAGES = 70;

/** Thrown when the list did not end: then nobody knows whether a run is in it. */
export class SearchTooLong extends Error {}

/**
 * Runs at the provider that may have come from an earlier submit of this prediction whose answer was lost, newest first.
 * A run's callback address names its prediction. Where there are no callbacks, or the list does not show them, an equal
 * model and input must do: the caller then asks the database whether the run belongs to another prediction.
 * Throws ProviderError and SearchTooLong.
 */
export async function* findOrphans(
  task: SoughtTask,
  provider: Provider,
  signal: AbortSignal,
): AsyncGenerator<ListedPrediction> {
  if (task.search_since === null) return;
  const since = new Date(task.search_since.getTime() - SLACK_MS);
  const wanted = fingerprint(wantedInput(task));
  let query: string | null = null;
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const page: Awaited<ReturnType<Provider["list"]>> = await provider.list(since, query, signal);
    for (const run of page.runs) {
      const named = namedPrediction(run.webhook);
      const isOurs =
        named === undefined ? run.model === task.model && fingerprint(run.input) === wanted : named === task.id;
      if (isOurs) yield run;
    }
    const oldest = Date.parse(page.runs.at(-1)?.created_at ?? "");
    if (page.next === null || oldest < since.getTime()) return;
    query = page.next;
  }
  throw new SearchTooLong(`the provider's list since ${since.toISOString()} has more than ${MOST_PAGES} pages`);
}

/** The prediction a callback address is for; null when it is not one of ours, undefined when none is shown. */
function namedPrediction(webhook: string | null | undefined): string | null | undefined {
  if (!webhook) return undefined;
  return URL.canParse(webhook) ? new URL(webhook).searchParams.get("prediction") : null;
}

function wantedInput(task: SoughtTask): Record<string, unknown> | null {
  const files = wantedFiles(task);
  const standIn = (file: unknown) => (file === null ? null : "https://file.invalid/");
  try {
    return buildInput(
      {
        step: task.step,
        prompt: task.prompt,
        durationSeconds: task.duration_seconds,
        reference: standIn(files.reference),
        firstFrame: standIn(files.firstFrame),
        lastFrame: standIn(files.lastFrame),
      },
      task.model_settings,
    );
  } catch (error) {
    if (error instanceof UnsupportedInput) return null;
    throw error;
  }
}

/** Equal for inputs that differ only in the addresses of their files, which are signed anew each time. */
function fingerprint(input: unknown): string {
  return JSON.stringify(input, (_key, value: unknown) => {
    if (typeof value === "string" && /^https?:\/\/\S+$/.test(value)) return "file";
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

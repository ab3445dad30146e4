import { type Prediction, predictionJson } from "./prediction.ts";
import { Problem } from "./problem.ts";
import type { SimulatorSettings } from "./simulator.ts";

const pageSize = 100;

type Page = { next: string | null; previous: string | null; results: Record<string, unknown>[] };

/** One page of the list of predictions (`all`: newest first), by created_after, created_before and cursor. */
export function listPage(
  all: readonly Prediction[],
  query: URLSearchParams,
  { baseUrl }: Pick<SimulatorSettings, "baseUrl">,
): Page {
  const after = parseTime(query, "created_after");
  const before = parseTime(query, "created_before");
  const matching = all.filter(({ createdAt }) => {
    const at = createdAt.getTime();
    return (after === null || at >= after) && (before === null || at < before);
  });
  const from = startOf(matching, query.get("cursor"));
  const page = matching.slice(from, from + pageSize);
  const link = (cursor: string) => {
    const params = new URLSearchParams(query);
    params.set("cursor", cursor);
    return `${baseUrl()}/v1/predictions?${params}`;
  };
  const [first, last] = [page[0], page.at(-1)];
  return {
    next: last && from + pageSize < matching.length ? link(`after-${last.id}`) : null,
    previous: first && from > 0 ? link(`before-${first.id}`) : null,
    results: page.map((prediction) => listedJson(prediction, baseUrl())),
  };
}

/** A prediction as the list shows it: with no more fields than are documented of it. */
function listedJson(prediction: Prediction, baseUrl: string): Record<string, unknown> {
  const { logs, deadline, webhook, webhook_events_filter, ...documented } = predictionJson(prediction, baseUrl);
  return documented;
}

function startOf(predictions: readonly Prediction[], cursor: string | null): number {
  if (cursor === null) return 0;
  const [, direction, id] = /^(after|before)-(.+)$/.exec(cursor) ?? [];
  const at = predictions.findIndex((prediction) => prediction.id === id);
  if (at < 0) throw new Problem(400, "Bad request", "Invalid cursor");
  return direction === "after" ? at + 1 : Math.max(0, at - pageSize);
}

function parseTime(query: URLSearchParams, name: string): number | null {
  const text = query.get(name);
  if (text === null) return null;
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new Problem(400, "Bad request", `${name} is not a date-time`);
  return time;
}

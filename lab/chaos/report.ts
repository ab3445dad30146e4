import type { Verdict } from "./invariants/invariants.ts";
import { FAULT_NAMES } from "./faults.ts";
import { retry, type World } from "./world.ts";

export type ChaosResult = {
  verdicts: Verdict[];
  /** Faults that were done, by name. */
  applied: ReadonlyMap<string, number>;
  notApplied: ReadonlyMap<string, number>;
  calls: ReadonlyMap<string, number>;
  figures: Record<string, number>;
  /** Faults that were done differently from what their names say. */
  remarks: string[];
};

/** How many examples are shown of each broken invariant. */
const MAX_EXAMPLES = 5;

/** The run's figures, faults and invariants, as Markdown. */
export function describeResult({ verdicts, applied, notApplied, calls, figures, remarks }: ChaosResult): string {
  const invariants = verdicts.map(({ name, sentence, broken }) => [
    sentence,
    broken.length === 0 ? "holds" : `broken ${broken.length} times (${name})`,
  ]);
  const faults = FAULT_NAMES.map((name) => [
    name.replaceAll("_", " "),
    applied.get(name) ?? 0,
    notApplied.get(name) ?? 0,
  ]);
  const sorted = [...calls].sort(([, a], [, b]) => b - a);
  const examples = verdicts.flatMap(({ name, broken }) =>
    broken.slice(0, MAX_EXAMPLES).map((line) => `${name}: ${line}`),
  );
  return [
    table(["figure", "count"], Object.entries(figures)),
    // Scenarios alone have neither faults nor calls.
    ...(calls.size > 0
      ? [table(["fault", "done", "not possible"], faults), table(["calls of users", "count"], sorted)]
      : []),
    ...remarks,
    table(["invariant", ""], invariants),
    ...examples,
  ].join("\n\n");
}

/** How many invariants are broken. */
export const countBroken = ({ verdicts }: Pick<ChaosResult, "verdicts">): number =>
  verdicts.filter(({ broken }) => broken.length > 0).length;

function table(head: string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) =>
    `| ${cells.map((cell) => (typeof cell === "number" ? cell.toLocaleString("en") : cell)).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---|").join("")}`, ...rows.map(line)].join("\n");
}

/** The run's figures, once the ledger is written. */
export async function countAll({ sql, receivers, ledger }: World): Promise<Record<string, number>> {
  const [row] = await retry(
    () => sql<Record<string, number>[]>`
      select
        (select count(*)::int from keyframe.projects) as projects,
        (select count(*)::int from chaos.starts where prediction_id is not null) as "accepted starts",
        (select count(*)::int from keyframe.predictions where status = 'succeeded') as succeeded,
        (select count(*)::int from keyframe.predictions where status = 'failed') as failed,
        (select count(*)::int from keyframe.predictions where status = 'canceled') as canceled,
        (select count(*)::int from chaos.runs) as "provider runs",
        (select count(*)::int from (select from chaos.starts where prediction_id is not null
          group by prompt having count(*) > 1) pair) as "pairs of equal starts",
        (select count(*)::int from chaos.runs r where not exists (
          select from keyframe_private.provider_submits o where o.provider_prediction_id = r.id)) as "provider runs that nothing proves",
        (select count(*)::int from keyframe_private.provider_submits) as submits,
        (select count(*)::int from keyframe_private.provider_submits where outcome = 'lost') as "submits of which nobody knows what happened",
        (select coalesce(sum(billed_micros), 0)::float from chaos.runs r where not exists (
          select from keyframe_private.provider_submits o where o.provider_prediction_id = r.id)) as "micro-dollars billed for these",
        (select coalesce(sum(billed_micros), 0)::float from chaos.runs) as "micro-dollars billed, at the first prices",
        (select coalesce(sum(cost_micros), 0)::float from keyframe_private.provider_submits) as "micro-dollars settled",
        (select count(*)::int from keyframe_private.provider_submits where cost_state = 'unknown') as "submits of unknown cost",
        (select coalesce(sum(most_micros), 0)::float from keyframe_private.provider_submits where cost_state = 'unknown')
          as "micro-dollars that these cost at most",
        (select count(*)::int from chaos.starts where refusal = 'budget_exceeded') as "starts refused for a budget",
        (select count(*)::int from chaos.starts where refusal = 'spending_stopped') as "starts refused while spending was stopped",
        (select count(*)::int from keyframe.webhook_events where type = 'budget.exhausted') as "budgets exhausted",
        (select count(*)::int from chaos.deleted_projects d
          where not exists (select from keyframe.projects p where p.id = d.project_id)) as "deleted projects",
        (select count(*)::int from chaos.deleted_takes d
          where not exists (select from keyframe.predictions p where p.id = d.prediction_id)) as "deleted takes",
        (select count(*)::int from keyframe.projects where film_id is not null) as "shots of films",
        (select count(*)::int from keyframe_private.prediction_images i
          join keyframe.predictions p on p.id = i.prediction_id join keyframe.predictions s on s.id = i.source_prediction_id
          where s.project_id <> p.project_id) as "frames of other projects in use",
        (select count(*)::int from chaos.addresses) as "signed URLs",
        (select count(*)::int from keyframe.webhook_events) as events,
        (select count(*)::int from keyframe.webhook_deliveries where status = 'delivered') as "deliveries delivered",
        (select count(*)::int from keyframe.webhook_deliveries where status = 'exhausted') as "deliveries exhausted",
        (select count(*)::int from keyframe.webhook_deliveries where status = 'pending') as "deliveries waiting for a disabled endpoint",
        (select count(*)::int from keyframe.webhook_attempts) as "delivery attempts",
        (select count(*)::int from keyframe_private.webhook_hours) as "hours counted for endpoints",
        (select count(*)::int from storage.objects) as "files in Storage",
        (select count(*)::int from chaos.recorded_objects) as "files that ever had a row",
        (select count(*)::int from chaos.files f where not exists (
          select from storage.objects o where o.bucket_id = f.bucket and o.name = f.name)) as "files of failed uploads",
        (select count(*)::int from chaos.wrong_clock_callbacks) as "callbacks refused by a wrong clock",
        (select count(*)::int from chaos.status_answers) as "statuses that users got",
        (select count(*)::int from chaos.status_answers where code = 304) as "of these by 304"`,
  );
  return {
    ...row,
    "requests at receivers": receivers.arrivals,
    "of these with a wrong time": [...receivers.received.values()].reduce((all, { stale }) => all + stale, 0),
    "calls of users": sum(ledger.calls),
    "health probes": ledger.probes.length,
    "health probes answered 503": ledger.probes.filter(({ status }) => status === 503).length,
    "slowest health probe, ms": Math.max(0, ...ledger.probes.map(({ ms }) => ms)),
  };
}

export const sum = (counts: ReadonlyMap<string, number>): number =>
  [...counts.values()].reduce((all, one) => all + one, 0);

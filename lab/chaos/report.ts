import { FAULT_NAMES } from "./faults.ts";
import type { Verdict } from "./invariants/invariants.ts";
import { retryUntilDone, type World } from "./world.ts";

/** How often something happened, by name. */
type Counts = Map<string, number>;

export function count(counts: Counts, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

export type ChaosResult = {
  verdicts: Verdict[];
  /** Faults that were done, and those that could not be. */
  applied: Counts;
  notApplied: Counts;
  /** Calls of users by outcome: `ok` or the error's code. */
  calls: Counts;
  figures: Record<string, number>;
  /** Faults that were done differently from their names. */
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
  const parts = [describeTable(["figure", "count"], Object.entries(figures))];
  // A run of only scenarios has neither faults nor calls.
  if (calls.size > 0)
    parts.push(
      describeTable(["fault", "done", "not possible"], faults),
      describeTable(["calls of users", "count"], sorted),
    );
  return parts.concat(remarks, describeTable(["invariant", ""], invariants), examples).join("\n\n");
}

/** How many invariants are broken. */
export const countBroken = ({ verdicts }: Pick<ChaosResult, "verdicts">): number =>
  verdicts.filter(({ broken }) => broken.length > 0).length;

export function describeTable(head: string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) =>
    `| ${cells.map((cell) => (typeof cell === "number" ? cell.toLocaleString("en") : cell)).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---|").join("")}`, ...rows.map(line)].join("\n");
}

const UNPROVEN = `
  from chaos.runs r where not exists (select from keyframe_private.provider_submits o where o.provider_prediction_id = r.id)`;

/** The figures and their queries, once the ledger is written. */
const FIGURES: Record<string, string> = {
  starts: "select count(*) from chaos.starts",
  "accepted starts": "select count(*) from chaos.starts where prediction_id is not null",
  succeeded: "select count(*) from keyframe.predictions where status = 'succeeded'",
  failed: "select count(*) from keyframe.predictions where status = 'failed'",
  canceled: "select count(*) from keyframe.predictions where status = 'canceled'",
  "provider runs": "select count(*) from chaos.runs",
  "provider runs that nothing proves": `select count(*) ${UNPROVEN}`,
  "micro-dollars billed": "select sum(billed_micros) from chaos.runs",
  "micro-dollars billed for runs that nothing proves": `select sum(r.billed_micros) ${UNPROVEN}`,
  "micro-dollars settled": "select sum(cost_micros) from keyframe_private.provider_submits",
  "micro-dollars that users pay": "select sum(charge_micros) from keyframe_private.provider_submits",
  "credits added": "select count(*) from keyframe_private.credits",
  "starts refused for a balance": "select count(*) from chaos.starts where refusal = 'balance_exhausted'",
  "submits of unknown cost": "select count(*) from keyframe_private.provider_submits where cost_state = 'unknown'",
  "projects with starts that were deleted":
    "select count(distinct project_id) from chaos.starts s where not exists (select from keyframe.projects p where p.id = s.project_id)",
  events: "select count(*) from keyframe.webhook_events",
  "deliveries delivered": "select count(*) from keyframe.webhook_deliveries where status = 'delivered'",
  "deliveries exhausted": "select count(*) from keyframe.webhook_deliveries where status = 'exhausted'",
  "delivery attempts": "select count(*) from keyframe.webhook_attempts",
  "files in Storage": "select count(*) from storage.objects",
};

export async function countAll({ sql, receivers, ledger }: World): Promise<Record<string, number>> {
  const columns = Object.entries(FIGURES).map(([name, query]) => `coalesce((${query}), 0)::float as "${name}"`);
  const [row] = await retryUntilDone(() => sql.unsafe<Record<string, number>[]>(`select ${columns.join(", ")}`));
  return {
    ...row,
    "requests at receivers": receivers.arrivals,
    "5xx answers to users": ledger.refusals.length,
  };
}

import { plansOf } from "../../../test/support/db-plans.ts";
import type { Size } from "./open-sizes.ts";
import { OPERATIONS, runOperation } from "./operations.ts";

/** What grows with the past. Endpoints of which there are few, models and settings may be read whole. */
const GROWING = [
  ...["projects", "predictions", "provider_runs"],
  ...["webhook_events", "webhook_deliveries", "webhook_attempts", "webhook_hours"],
];
/** A table of so few rows is read whole rather than by an index, and rightly. */
const FEW_ROWS = 2_000;
/** No scan of an operation may read more for what it came to. */
const MOST_ROWS = 1_000;
/** The figures count what is pending, which dead endpoints may have a lot of. */
const MOST_COUNTED = 100_000;

/**
 * Runs every operation with the plans of all its statements reported, those inside functions and triggers included. Throws when
 * one reads a growing table whole, or more rows of it than its answer needs. Returns how many plans used an index of one.
 */
export async function checkPlans({ url, predictions }: Size): Promise<number> {
  let seen = 0;
  for (const operation of OPERATIONS) {
    const plans = await plansOf(url, (sql) => runOperation(sql, operation));
    const most = operation.aimed ? MOST_ROWS : MOST_COUNTED;
    for (const plan of plans) {
      const scans = scansOf(plan).filter(({ table }) => GROWING.includes(table));
      const wrong = scans.find(({ whole, rows }) => rows > (whole ? FEW_ROWS : most));
      if (wrong !== undefined) {
        const how = wrong.whole ? "whole" : `${wrong.rows} rows of it`;
        throw new Error(
          `${operation.name} at ${predictions.toLocaleString("en-US")} predictions reads ${wrong.table}, ${how}:\n${plan}`,
        );
      }
      if (scans.some(({ whole }) => !whole)) seen++;
    }
  }
  if (seen < OPERATIONS.length) throw new Error(`Only ${seen} plans were seen: auto_explain does not report.`);
  return seen;
}

/** The scans of a plan: how many rows each read, over all its loops, those it read in vain included. */
function scansOf(plan: string): { table: string; whole: boolean; rows: number }[] {
  return plan.split(/\n(?=\s*->)/).flatMap((node) => {
    const [, kind, table] = /(\w+ (?:Only )?(?:Heap )?)Scan[^\n]* on (\w+)/.exec(node) ?? [];
    const [, rows, loops] = /actual rows=([\d.]+) loops=(\d+)/.exec(node) ?? [];
    if (kind === undefined || table === undefined) return [];
    const removed = /Rows Removed by Filter: (\d+)/.exec(node)?.[1] ?? 0;
    return [{ table, whole: kind.startsWith("Seq"), rows: (Number(rows) + Number(removed)) * Number(loops) }];
  });
}

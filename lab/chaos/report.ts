import { FAULT_NAMES } from "./plan-faults.ts";
import type { ChaosResult } from "./run-chaos.ts";

/** Of each broken promise so many examples are shown. */
const MOST_EXAMPLES = 5;

/** What was done, what came of it and which promises were kept, as Markdown. */
export function describeResult({ verdicts, applied, notApplied, calls, figures, remarks }: ChaosResult): string {
  const promises = verdicts.map(({ name, sentence, broken }) => [
    sentence,
    broken.length === 0 ? "kept" : `broken ${broken.length} times (${name})`,
  ]);
  const faults = FAULT_NAMES.map((name) => [
    name.replaceAll("_", " "),
    applied.get(name) ?? 0,
    notApplied.get(name) ?? 0,
  ]);
  const examples = verdicts.flatMap(({ name, broken }) =>
    broken.slice(0, MOST_EXAMPLES).map((line) => `${name}: ${line}`),
  );
  return [
    table(["what came of it", "count"], Object.entries(figures)),
    table(["fault", "done", "not to be done"], faults),
    ...remarks,
    table(
      ["calls of users", "count"],
      [...calls].sort(([, a], [, b]) => b - a),
    ),
    table(["promise", ""], promises),
    ...examples,
  ].join("\n\n");
}

/** How many promises were broken. */
export const countBroken = ({ verdicts }: Pick<ChaosResult, "verdicts">): number =>
  verdicts.filter(({ broken }) => broken.length > 0).length;

function table(head: string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) =>
    `| ${cells.map((cell) => (typeof cell === "number" ? cell.toLocaleString("en") : cell)).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---|").join("")}`, ...rows.map(line)].join("\n");
}

import type { Part } from "../../contract/service.ts";

/** A budget is used up when not even a start with the cheapest default model fits. */
export function costProblems({ today, month, cheapestStartMicros, spendingStopped }: Part<"costs">): string[] {
  const problems = spendingStopped
    ? [
        "Spending is stopped: starts are refused with spending_stopped, and queued predictions wait. Allow it again: update keyframe_private.settings set spending_stopped = false.",
      ]
    : [];
  for (const [period, column, { budgetMicros, leftMicros }] of [
    ["day", "service_day_micros", today],
    ["month", "service_month_micros", month],
  ] as const) {
    if (budgetMicros === null || leftMicros === null || leftMicros >= (cheapestStartMicros ?? 1)) continue;
    const [left, budget] = [leftMicros, budgetMicros].map((micros) => (micros / 1_000_000).toFixed(2));
    problems.push(
      `The service's budget of this ${period} is used up: $${left} of $${budget} is left. Starts are refused with budget_exceeded until the next ${period} (UTC). Raise it (update keyframe_private.settings set ${column} = …, in micro-dollars), or see keyframe_private.admin_costs for who spent it.`,
    );
  }
  return problems;
}

export function modelProblem(gone: Part<"unavailableModels">[number]): string {
  const { step, model, reason, isDefault, successor } = gone;
  const row = `where step = '${step}' and model = '${model}'`;
  const why = reason === "ended" ? "its shutdown_at has passed" : "the provider does not know it";
  const effect = !isDefault
    ? ""
    : successor === null
      ? " Starts of this step are refused with model_unavailable."
      : ` Starts use ${successor}.`;
  const change = isDefault
    ? `Choose another default (update keyframe.step_defaults set model = '…' where step = '${step}')`
    : `Switch it off (update keyframe.models set enabled = false ${row})`;
  const back =
    reason === "ended"
      ? "or correct its shutdown_at if the vendor has postponed it"
      : `or, if the provider has it again, update keyframe.models set refused_at = null ${row}`;
  return `The model ${model} of the step ${step} is not available: ${why}.${effect} ${change}, ${back}.`;
}

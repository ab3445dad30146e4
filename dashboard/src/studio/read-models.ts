import type { Step } from "../../../client/index.ts";

/** What a model can do, as far as it decides what is offered. */
export type Model = {
  name: string;
  /** Seconds; the first is the one that is used when none is asked for. */
  durations: number[];
  maxReferences: number;
};

const STEPS: readonly string[] = ["first-frame", "last-frame", "video"] satisfies Step[];
const isStep = (value: unknown): value is Step => typeof value === "string" && STEPS.includes(value);

/** Rows of models by their step; what does not have the shape is left out. */
export function readModels(rows: readonly Record<string, unknown>[]): Partial<Record<Step, Model>> {
  const models: Partial<Record<Step, Model>> = {};
  for (const { step, model, durations, max_references } of rows) {
    if (!isStep(step) || typeof model !== "string") continue;
    models[step] = {
      name: model,
      durations: Array.isArray(durations) ? durations.filter((one) => typeof one === "number") : [],
      maxReferences: typeof max_references === "number" ? max_references : 0,
    };
  }
  return models;
}

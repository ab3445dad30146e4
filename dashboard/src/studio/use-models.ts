import { useQuery } from "@tanstack/react-query";
import type { Step } from "../../../client/index.ts";
import { useServices } from "../services.ts";

const CHANGES_SELDOM_MS = 5 * 60_000;
const COLUMNS = "step,model,durations,max_references";

/** The default model of each step. Empty while loading: options that depend on it are hidden. */
export function useModels(): Partial<Record<Step, Model>> {
  const { callPlatform } = useServices();
  const { data } = useQuery({
    queryKey: ["models"],
    queryFn: async ({ signal }) =>
      readModels(await callPlatform(`/rest/v1/models?is_default=is.true&select=${COLUMNS}`, { signal })),
    staleTime: CHANGES_SELDOM_MS,
  });
  return data ?? {};
}

export type Model = {
  name: string;
  /** Seconds; the first is the default. */
  durations: number[];
  maxReferences: number;
};

const STEPS: readonly string[] = ["first-frame", "last-frame", "video"] satisfies Step[];
const isStep = (value: unknown): value is Step => typeof value === "string" && STEPS.includes(value);

/** Models by step; malformed rows are skipped. */
function readModels(rows: unknown): Partial<Record<Step, Model>> {
  const models: Partial<Record<Step, Model>> = {};
  for (const { step, model, durations, max_references } of rows as Record<string, unknown>[]) {
    if (!isStep(step) || typeof model !== "string") continue;
    models[step] = {
      name: model,
      durations: Array.isArray(durations) ? durations.filter((one) => typeof one === "number") : [],
      maxReferences: typeof max_references === "number" ? max_references : 0,
    };
  }
  return models;
}

import { useQuery } from "@tanstack/react-query";
import type { Model, ModelList, Step } from "../../../client/index.ts";
import { useKeyframe } from "../services.ts";
import { queryKeys } from "./query-keys.ts";

const CHANGES_SELDOM_MS = 5 * 60_000;

type ModelsOfSteps = Partial<Record<Step, Model[]>>;

function useModelList<Selected>(select: (list: ModelList) => Selected): Selected | undefined {
  const keyframe = useKeyframe();
  const queryFn = ({ signal }: { signal: AbortSignal }) => keyframe.models({ signal });
  return useQuery({ queryKey: queryKeys.models, queryFn, staleTime: CHANGES_SELDOM_MS, select }).data;
}

const NO_MODELS: ModelsOfSteps = {};
const availableOf = ({ steps }: ModelList): ModelsOfSteps =>
  Object.fromEntries(steps.map(({ step, models }) => [step, models.filter(({ available }) => available)]));

/** The models that each step offers. Empty while loading: settings that depend on them are hidden. */
export const useModels = (): ModelsOfSteps => useModelList(availableOf) ?? NO_MODELS;

export type LabelOf = (model: string) => string;

const labelsOf = ({ steps }: ModelList): LabelOf => {
  const labels = new Map(steps.flatMap(({ models }) => models.map(({ model, label }) => [model, label])));
  return (model) => labels.get(model) ?? model;
};

/** A model's label. A model without a row has the provider's name. */
export const useModelLabel = (): LabelOf => useModelList(labelsOf) ?? String;

import { useQuery } from "@tanstack/react-query";
import type { Model, Step } from "../../../client/index.ts";
import { useKeyframe } from "../services.ts";

const CHANGES_SELDOM_MS = 5 * 60_000;

export type ModelsOfSteps = Partial<Record<Step, Model[]>>;

/** The models that each step offers. Empty while loading: settings that depend on them are hidden. */
export function useModels(): ModelsOfSteps {
  const keyframe = useKeyframe();
  const { data } = useQuery({
    queryKey: ["models"],
    queryFn: async ({ signal }): Promise<ModelsOfSteps> => {
      const { steps } = await keyframe.models({ signal });
      return Object.fromEntries(steps.map(({ step, models }) => [step, models.filter(({ available }) => available)]));
    },
    staleTime: CHANGES_SELDOM_MS,
  });
  return data ?? {};
}

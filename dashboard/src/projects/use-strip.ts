import { useMediaQuery } from "@mantine/hooks";
import type { ProjectWithPredictions } from "../../../client/index.ts";
import { usePlan } from "../step-settings/use-plan.ts";
import { useSelection, useTakesView } from "../takes/use-takes.ts";
import { useReuse } from "./use-reuse.ts";
import type { TextsState } from "./use-texts.ts";

/** The state that the cards of the steps share. */
export type StripState = ReturnType<typeof useStrip>;

export function useStrip(project: ProjectWithPredictions, texts: TextsState) {
  const plan = usePlan(project);
  const selection = useSelection(project);
  const view = useTakesView();
  return {
    project,
    texts,
    plan,
    selection,
    view,
    onReuse: useReuse({ project, selection, view, plan, prompt: texts.texts.textPrompt }),
    isWide: useMediaQuery("(min-width: 62em)", undefined, { getInitialValueInEffect: false }),
  };
}

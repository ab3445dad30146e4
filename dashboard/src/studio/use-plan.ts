import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useRef } from "react";
import type { ProjectWithPredictions, Step } from "../../../client/index.ts";
import { useChangeProject } from "../queries/project-queries.ts";
import { IS_SHOWN } from "../queries/query-client.ts";
import { useDraft } from "../session/use-draft.ts";
import { type Passing, planOf, plannedOptions, type Settings, type StepOptions } from "../steps/step-options.ts";

const AFTER_TYPING_MS = 500;

/** What is not saved yet, which stays through a reload, and what no plan has. */
type Draft = { edited: Settings; passing: Partial<Record<Step, Passing>> };
const NO_DRAFT: Draft = { edited: {}, passing: {} };

/** The settings of each step: the plan of the project. A change shows at once and is saved soon after. */
export function usePlan(project: ProjectWithPredictions) {
  const change = useChangeProject(project.projectId, IS_SHOWN);
  const [{ edited, passing }, write] = useDraft(`settings ${project.projectId}`, NO_DRAFT);
  const optionsIn = (draft: Draft, step: Step): StepOptions =>
    draft.edited[step] ?? plannedOptions(project.plan[step], draft.passing[step]);

  /** Resolves when all is saved. */
  const save = async () => {
    if (Object.keys(edited).length === 0) return;
    const plan = Object.fromEntries(Object.entries(edited).map(([step, options]) => [step, planOf(options)]));
    const isChanged = Object.entries(plan).some(
      ([step, one]) => JSON.stringify(one) !== JSON.stringify(project.plan[step as Step] ?? {}),
    );
    if (isChanged) await change.mutateAsync({ change: { plan } });
    // What was changed meanwhile is saved by the next call.
    const isSaved = ([step, options]: [string, StepOptions]) =>
      JSON.stringify(options) === JSON.stringify(edited[step as Step]);
    write((now) => ({
      ...now,
      edited: Object.fromEntries(Object.entries(now.edited).filter((entry) => !isSaved(entry))),
    }));
  };
  const isTyping = useRef(false);
  const saveSoon = useDebouncedCallback(() => void save().catch(() => undefined), {
    delay: AFTER_TYPING_MS,
    flushOnUnmount: true,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each change, and for one that an earlier visit did not save
  useEffect(() => {
    if (Object.keys(edited).length === 0) return;
    if (isTyping.current) saveSoon();
    else void save().catch(() => undefined); // it is shown
  }, [JSON.stringify(edited)]);

  return {
    optionsOf: (step: Step) => optionsIn({ edited, passing }, step),
    set: (step: Step, changed: Partial<StepOptions>) =>
      write((draft) => {
        const before = optionsIn(draft, step);
        const options = { ...before, ...changed };
        isTyping.current =
          options.prompt !== before.prompt || options.values.negativePrompt !== before.values.negativePrompt;
        const { elements, values } = options;
        return {
          edited: { ...draft.edited, [step]: options },
          passing: { ...draft.passing, [step]: { elements, seed: values.seed } },
        };
      }),
    save,
    isSaved: Object.keys(edited).length === 0,
    error: change.error,
  };
}

import { useDebouncedCallback } from "@mantine/hooks";
import { useState } from "react";
import type { ProjectWithPredictions, Step } from "../../../client/index.ts";
import { IS_SHOWN } from "../queries/query-client.ts";
import { useChangeProject } from "../queries/project-queries.ts";
import { type Passing, planOf, plannedOptions, type Settings, type StepOptions } from "../steps/step-options.ts";

const AFTER_TYPING_MS = 500;

/** The settings of each step: the plan of the project. A change shows at once and is saved soon after. */
export function usePlan(project: ProjectWithPredictions) {
  const change = useChangeProject(project.projectId, IS_SHOWN);
  const [edited, setEdited] = useState<Settings>({});
  const [passing, setPassing] = useState<Partial<Record<Step, Passing>>>({});
  const save = useDebouncedCallback(
    (settings: Settings) => {
      const plan = Object.fromEntries(Object.entries(settings).map(([step, options]) => [step, planOf(options)]));
      // What was changed again meanwhile is saved by the next call.
      const forgetSaved = () =>
        setEdited((now) =>
          Object.fromEntries(Object.entries(now).filter(([step, one]) => one !== settings[step as Step])),
        );
      change.mutate({ change: { plan } }, { onSuccess: forgetSaved });
    },
    { delay: AFTER_TYPING_MS, flushOnUnmount: true },
  );
  const optionsOf = (step: Step): StepOptions => edited[step] ?? plannedOptions(project.plan[step], passing[step]);
  const set = (step: Step, changed: Partial<StepOptions>) => {
    const options = { ...optionsOf(step), ...changed };
    const all = { ...edited, [step]: options };
    setPassing((some) => ({ ...some, [step]: { elements: options.elements, seed: options.values.seed } }));
    setEdited(all);
    save(all);
  };
  return { optionsOf, set, error: change.error };
}

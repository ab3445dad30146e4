import { useQueryClient } from "@tanstack/react-query";
import type { Prediction, Step } from "../../../client/index.ts";
import { selectionOf } from "../queries/project-queries.ts";
import { useModelLabel, useModels } from "../queries/use-models.ts";
import { predictionQuery } from "../queries/use-predictions.ts";
import { useServices } from "../services.ts";
import { repeatTake } from "../step-settings/repeat-take.ts";
import type { StepOptions } from "../queries/plan-edits.ts";
import { fieldsOf } from "../step-settings/step-options.ts";
import type { Plan } from "../step-settings/use-plan.ts";
import { frameOf, isUpload } from "../takes/input-words.ts";
import { nounOf, STEP_NAME } from "../takes/status-words.ts";
import type { TakesProps } from "../takes/use-takes.ts";
import { notify } from "../ui/Notices.tsx";

type Selected = Partial<Record<Step, string | null>>;
type Page = Omit<TakesProps, "onReuse"> & { plan: Plan; prompt: string };

const FRAMES = [
  ["firstFrame", "first-frame"],
  ["lastFrame", "last-frame"],
] as const;

/** Returns a function that puts a prediction's inputs into the settings, and says which inputs can no longer be used. */
export function useReuse({ project, selection, view, plan, prompt }: Page): (take: Prediction) => void {
  const services = useServices();
  const queries = useQueryClient();
  const models = useModels();
  const labelOf = useModelLabel();

  /** A frame of the project is selected. Another frame goes into the settings. */
  const readFrames = async ({ input }: Prediction) => {
    const selected: Selected = {};
    const frames: StepOptions = {};
    const named: string[] = [];
    const deleted: string[] = [];
    for (const [role, step] of FRAMES) {
      const frame = frameOf(input, role);
      if (frame === null) continue;
      const name = STEP_NAME[step].toLowerCase();
      // A frame that cannot be read now goes into the settings: the service decides.
      const read = () => queries.fetchQuery(predictionQuery(services, frame)).catch(() => undefined);
      const source = isUpload(frame) ? undefined : await read();
      if (source === null) {
        deleted.push(`its ${name}, which was deleted`);
        continue;
      }
      const isOfProject = source?.projectId === project.projectId && source.step === step;
      if (isOfProject) Object.assign(selected, selectionOf(project, source));
      else Object.assign(frames, fieldsOf(role, frame));
      if (selected[step] !== null) named.push(name); // the latest frame is used without a selection
    }
    return { selected, frames, named, deleted };
  };

  const reuse = async (take: Prediction) => {
    const { step } = take;
    const { selected, frames, named, deleted } = await readFrames(take);
    const now = { models: models[step], labelOf, projectPrompt: prompt, frames };
    const { options, aspectRatio, leftOut } = repeatTake(take, now);
    const onSuccess = () => {
      plan.replace(step, options);
      view.show({ takes: null, take: null });
      notify(reusedWords(nounOf(step), named, [...deleted, ...leftOut]));
    };
    selection.change.mutate({ change: { aspectRatio: aspectRatio ?? undefined, selected } }, { onSuccess });
  };
  return (take) => void reuse(take);
}

function reusedWords(noun: string, named: string[], leftOut: string[]): string {
  if (leftOut.length > 0)
    return `The inputs of that ${noun} are set, except those that can no longer be used: ${leftOut.join(", ")}.`;
  return named.length > 0
    ? `The inputs are set, with the ${named.join(" and the ")} of that ${noun}.`
    : "The inputs are set. Generate when you are ready.";
}

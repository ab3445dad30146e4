import { useDebouncedCallback } from "@mantine/hooks";
import { hashKey, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { ProjectWithPredictions, ShotPlan, Step } from "../../../client/index.ts";
import { useChangeProject } from "../queries/project-queries.ts";
import { IS_SHOWN, projectKey } from "../queries/query-client.ts";
import { useDraft } from "../session/use-draft.ts";
import type { Passing, StepOptions } from "./step-options.ts";
import { isChangedElsewhere } from "../ui/errors.ts";

const AFTER_TYPING_MS = 500;
const TRIES = 3;

type Planned = NonNullable<ShotPlan["video"]>;
/** A step's plan as it was changed here, and which choices were. */
type Edit = { mine: Planned; touched: string[] };
type Edits = Partial<Record<Step, Edit>>;
/** What is not saved yet, which stays through a reload, and what no plan has. */
type Draft = { edited: Edits; passing: Partial<Record<Step, Passing>> };
const NO_DRAFT: Draft = { edited: {}, passing: {} };

/** The settings of each step: the plan of the project. A change shows at once and is saved soon after. */
export function usePlan(project: ProjectWithPredictions) {
  const queries = useQueryClient();
  const change = useChangeProject(project.projectId, IS_SHOWN);
  const [{ edited, passing }, write] = useDraft(`plan ${project.projectId}`, NO_DRAFT);

  const latest = useRef(edited);
  latest.current = edited;
  const saving = useRef(Promise.resolve());
  const saveAll = async () => {
    for (let tries = 1; ; tries += 1) {
      const saved = queries.getQueryData<ProjectWithPredictions>(projectKey(project.projectId)) ?? project;
      const left = unsavedOf(latest.current, saved.plan);
      if (Object.keys(left).length === 0) return;
      const plan = Object.fromEntries(stepsOf(left).map(([step, edit]) => [step, merge(edit, saved.plan[step])]));
      try {
        await change.mutateAsync({ change: { plan }, unchangedSince: saved });
        return;
      } catch (error) {
        if (!isChangedElsewhere(error) || tries === TRIES) throw error;
      }
    }
  };
  /** Resolves when all is saved. One after the other: two of this page would refuse each other. */
  const save = () => {
    saving.current = saving.current.catch(() => undefined).then(saveAll);
    return saving.current;
  };
  const isTyping = useRef(false);
  const saveSoon = useDebouncedCallback(() => void save().catch(() => undefined), {
    delay: AFTER_TYPING_MS,
    flushOnUnmount: true,
  });
  const isSaved = Object.keys(edited).length === 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each change, and for one that an earlier visit did not save
  useEffect(() => {
    if (isSaved) return;
    if (isTyping.current) saveSoon();
    else void save().catch(() => undefined); // it is shown
  }, [JSON.stringify(edited)]);
  // Once the project shows it. Until a save has ended, what is changed back differs from what that saves.
  useEffect(() => {
    const left = unsavedOf(edited, project.plan);
    if (!change.isPending && Object.keys(left).length < Object.keys(edited).length)
      write((now) => ({ ...now, edited: unsavedOf(now.edited, project.plan) }));
  });

  const optionsIn = ({ edited: edits, passing: others }: Draft, step: Step): StepOptions => ({
    ...merge(edits[step], project.plan[step]),
    ...others[step],
  });
  const replace = (step: Step, changeOf: (before: StepOptions) => StepOptions) =>
    write((draft) => {
      const { elements: _, seed: __, ...before } = optionsIn(draft, step);
      const { elements, seed, ...mine } = changeOf(optionsIn(draft, step));
      const fields = Object.keys({ ...before, ...mine }) as (keyof Planned)[];
      const isChanged = (field: keyof Planned) => JSON.stringify(before[field]) !== JSON.stringify(mine[field]);
      const touched = [...new Set([...(draft.edited[step]?.touched ?? []), ...fields.filter(isChanged).map(choiceOf)])];
      return {
        edited: touched.length === 0 ? draft.edited : { ...draft.edited, [step]: { mine, touched } },
        passing: { ...draft.passing, [step]: { elements, seed } },
      };
    });
  return {
    optionsOf: (step: Step) => optionsIn({ edited, passing }, step),
    /** An undefined field takes that choice back. */
    set: (step: Step, changed: StepOptions) => {
      isTyping.current = "prompt" in changed || "negativePrompt" in changed;
      replace(step, (before) => ({ ...before, ...changed }));
    },
    replace,
    save,
    isSaved,
    error: change.error,
  };
}

const stepsOf = (edits: Edits) => Object.entries(edits) as [Step, Edit][];

/** The edits that the saved plan does not have. */
const unsavedOf = (edits: Edits, plan: ShotPlan): Edits =>
  Object.fromEntries(
    stepsOf(edits).filter(([step, edit]) => hashKey([merge(edit, plan[step])]) !== hashKey([plan[step] ?? {}])),
  );

/** Where a video begins is one choice of several fields, and so is where it ends. */
const choiceOf = (field: string) =>
  field === "continuesPreviousShot" ? "firstFrame" : field.replace(/(PredictionId|ImagePath)$/, "");

/** The plan that is saved now, with what was changed here. */
function merge({ mine, touched }: Edit = { mine: {}, touched: [] }, saved: Planned = {}): Planned {
  const from = (plan: Planned, isMine: boolean) =>
    Object.entries(plan).filter(
      ([field, value]) => value !== undefined && touched.includes(choiceOf(field)) === isMine,
    );
  return Object.fromEntries([...from(saved, false), ...from(mine, true)]);
}

import { useDebouncedCallback } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { ProjectWithPredictions, ShotPlan, Step } from "../../../client/index.ts";
import { useChangeProject } from "../queries/project-queries.ts";
import { IS_SHOWN, projectKey } from "../queries/query-client.ts";
import { useDraft } from "../session/use-draft.ts";
import type { Passing, StepOptions } from "../steps/step-options.ts";
import { isChangedElsewhere } from "../ui/errors.ts";

const AFTER_TYPING_MS = 500;
const TRIES = 3;

type Planned = NonNullable<ShotPlan["video"]>;
/** A step's plan as it was saved and as it was changed here. */
type Edit = { base: Planned; mine: Planned };
/** What is not saved yet, which stays through a reload, and what no plan has. */
type Draft = { edited: Partial<Record<Step, Edit>>; passing: Partial<Record<Step, Passing>> };
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
    const sent = latest.current;
    for (let tries = 1; ; tries += 1) {
      const saved = queries.getQueryData<ProjectWithPredictions>(projectKey(project.projectId)) ?? project;
      const plan = Object.fromEntries(
        Object.entries(sent).map(([step, edit]) => [step, merge(edit, saved.plan[step as Step])]),
      );
      if (Object.entries(plan).every(([step, one]) => isSame(one, saved.plan[step as Step] ?? {}))) break;
      try {
        await change.mutateAsync({ change: { plan }, unchangedSince: saved });
        break;
      } catch (error) {
        if (!isChangedElsewhere(error) || tries === TRIES) throw error;
      }
    }
    // What was changed meanwhile is saved by the next call.
    const isLeft = ([step, edit]: [string, Edit]) => !isSame(edit, sent[step as Step]);
    write((now) => ({ ...now, edited: Object.fromEntries(Object.entries(now.edited).filter(isLeft)) }));
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

  const optionsIn = ({ edited: edits, passing: others }: Draft, step: Step): StepOptions => ({
    ...merge(edits[step], project.plan[step]),
    ...others[step],
  });
  const replace = (step: Step, change: (before: StepOptions) => StepOptions) =>
    write((draft) => {
      const { elements, seed, ...mine } = change(optionsIn(draft, step));
      return {
        edited: { ...draft.edited, [step]: { base: project.plan[step] ?? {}, mine } },
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

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** Where a video begins is one choice of several fields, and so is where it ends. */
const choiceOf = (field: string) =>
  field === "continuesPreviousShot" ? "firstFrame" : field.replace(/(PredictionId|ImagePath)$/, "");

/** The plan that is saved now, with what was changed here. */
function merge({ base, mine }: Edit = { base: {}, mine: {} }, saved: Planned = {}): Planned {
  const fields = Object.keys({ ...base, ...mine }) as (keyof Planned)[];
  const changed = new Set<string>(fields.filter((field) => !isSame(base[field], mine[field])).map(choiceOf));
  const from = (plan: Planned, isMine: boolean) =>
    Object.entries(plan).filter(([field, value]) => value !== undefined && changed.has(choiceOf(field)) === isMine);
  return Object.fromEntries([...from(saved, false), ...from(mine, true)]);
}

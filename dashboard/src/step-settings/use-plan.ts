import { useDebouncedCallback } from "@mantine/hooks";
import { hashKey, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { ProjectWithPredictions, ShotPlan, Step } from "../../../client/index.ts";
import { useChangeProject } from "../queries/project-queries.ts";
import { IS_SHOWN, projectKey } from "../queries/query-client.ts";
import { useDraft } from "../session/use-draft.ts";
import { isChangedElsewhere } from "../ui/errors.ts";
import type { StepOptions } from "./step-options.ts";

const AFTER_TYPING_MS = 500;
const TRIES = 3;

/** A field that was changed here; without a value, its choice was taken back. */
type Edit = { step: Step; field: keyof StepOptions; value?: StepOptions[keyof StepOptions] };
const NO_EDITS: Edit[] = [];

export type Plan = ReturnType<typeof usePlan>;

/** The settings of each step: the plan of the project. A change shows at once, stays through a reload, and is saved soon after. */
export function usePlan(project: ProjectWithPredictions) {
  const queries = useQueryClient();
  const change = useChangeProject(project.projectId, IS_SHOWN);
  const [edits, write] = useDraft(`edits ${project.projectId}`, NO_EDITS);
  const latest = useRef(edits);
  latest.current = edits;
  const isTyping = useRef(false);
  const saving = useRef(Promise.resolve());

  const saveAll = async () => {
    for (let tries = 1; ; tries += 1) {
      const saved = queries.getQueryData<ProjectWithPredictions>(projectKey(project.projectId)) ?? project;
      const unsaved = unsavedOf(latest.current, saved.plan).filter(isPlanned);
      if (unsaved.length === 0) return;
      const plan = Object.fromEntries(unsaved.map(({ step }) => [step, withEdits(saved.plan, unsaved, step)]));
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
  const saveQuietly = () => void save().catch(() => undefined); // `error` is shown
  const saveSoon = useDebouncedCallback(saveQuietly, { delay: AFTER_TYPING_MS, flushOnUnmount: true });
  const isSaved = !edits.some(isPlanned);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each change, and for one that an earlier visit did not save
  useEffect(() => {
    if (isSaved) return;
    if (isTyping.current) saveSoon();
    else saveQuietly();
  }, [JSON.stringify(edits)]);
  // Once the project shows it. Until a save has ended, what is changed back differs from what that saves.
  useEffect(() => {
    if (!change.isPending && unsavedOf(edits, project.plan).length < edits.length)
      write((now) => unsavedOf(now, project.plan));
  });

  const optionsOf = (step: Step): StepOptions => withEdits(project.plan, edits, step);
  const edit = (step: Step, changed: StepOptions) => {
    const fields = Object.keys(changed) as Edit["field"][]; // of options, which Object.keys forgets
    const made = fields.map((field) => ({ step, field, value: changed[field] }));
    write((before) => [...before.filter((one) => one.step !== step || !fields.includes(one.field)), ...made]);
  };
  return {
    optionsOf,
    /** An undefined field takes that choice back. */
    set: (step: Step, changed: StepOptions) => {
      isTyping.current = "prompt" in changed || "negativePrompt" in changed;
      edit(step, changed);
    },
    /** Takes all other choices of the step back. */
    replace: (step: Step, options: StepOptions) => {
      isTyping.current = false;
      const before = Object.keys(optionsOf(step)).map((field) => [field, undefined]);
      edit(step, { ...Object.fromEntries(before), ...options });
    },
    save,
    isSaved,
    error: change.error,
  };
}

/** A seed and the elements of a take belong to no plan. */
const isPlanned = ({ field }: Edit) => field !== "seed" && field !== "elements";

/** The plan of a step, with what was changed here. */
function withEdits(plan: ShotPlan, edits: Edit[], step: Step): StepOptions {
  const ofStep = edits.filter((edit) => edit.step === step);
  return { ...plan[step], ...Object.fromEntries(ofStep.map(({ field, value }) => [field, value])) };
}

/** The edits that the saved plan does not have. */
const unsavedOf = (edits: Edit[], plan: ShotPlan): Edit[] =>
  edits.filter(({ step, field, value }) => {
    const saved: StepOptions = plan[step] ?? {};
    return hashKey([{ value }]) !== hashKey([{ value: saved[field] }]);
  });

import { useDebouncedCallback } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { ProjectWithPredictions, Step } from "../../../client/index.ts";
import {
  type Edit,
  editsName,
  isPlanned,
  NO_EDITS,
  type StepOptions,
  unsavedOf,
  useSavePlans,
  withEdits,
} from "../queries/plan-edits.ts";
import { CHANGES_NOTHING } from "../queries/query-client.ts";
import { useDraft } from "../session/use-draft.ts";

const AFTER_TYPING_MS = 500;

export type Plan = ReturnType<typeof usePlan>;

/** The settings of each step, from the project's plan. A change shows at once, outlives a reload, and is saved soon after. */
export function usePlan({ projectId, plan }: ProjectWithPredictions) {
  const [edits, write] = useDraft(editsName(projectId), NO_EDITS);
  const savePlans = useSavePlans();
  const saving = useMutation({ meta: CHANGES_NOTHING, mutationFn: () => savePlans([projectId]) });
  const { mutate: save } = saving;
  const isTyping = useRef(false);
  const saveSoon = useDebouncedCallback(save, { delay: AFTER_TYPING_MS, flushOnUnmount: true });
  const unsaved = unsavedOf(edits, plan);
  const isUnsaved = unsaved.some(isPlanned);
  // A save includes edits left from an earlier visit, and drops those already in the plan.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each change
  useEffect(() => {
    if (edits.length === 0) return;
    if (isTyping.current) saveSoon();
    else save();
  }, [JSON.stringify(edits), unsaved.length]);

  const optionsOf = (step: Step): StepOptions => withEdits(plan, edits, step);
  const edit = (step: Step, changed: StepOptions) => {
    const fields = Object.keys(changed) as Edit["field"][]; // Object.keys loses the type
    const made = fields.map((field) => ({ step, field, value: changed[field] }));
    write((before) => [...before.filter((one) => one.step !== step || !fields.includes(one.field)), ...made]);
  };
  return {
    optionsOf,
    /** An undefined field removes that choice. */
    set: (step: Step, changed: StepOptions) => {
      isTyping.current = "prompt" in changed || "negativePrompt" in changed;
      edit(step, changed);
    },
    /** Removes all other choices of the step. */
    replace: (step: Step, options: StepOptions) => {
      isTyping.current = false;
      const before = Object.keys(optionsOf(step)).map((field) => [field, undefined]);
      edit(step, { ...Object.fromEntries(before), ...options });
    },
    /** Whether the service has what is shown, so that its price can be read. */
    isSaved: !isUnsaved && !saving.isPending,
    error: isUnsaved ? saving.error : null,
  };
}

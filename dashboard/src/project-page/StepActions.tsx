import { Group, NativeSelect, Text } from "@mantine/core";
import { useDebouncedValue, useDocumentVisibility } from "@mantine/hooks";
import { hashKey, keepPreviousData, useIsMutating, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import type { Estimate, Prediction, ProjectWithPredictions, Step, StepBody } from "../../../client/index.ts";
import { IconPlayerPlay, IconPlayerStop, IconReload } from "../ui/icons.tsx";
import type { StepOptions } from "../step-settings/step-options.ts";
import { isRunning, type useCancel } from "../queries/project-queries.ts";
import { projectKey } from "../queries/query-client.ts";
import { STEP_NAME } from "../takes/status-words.ts";
import { useKeyframe, useOnce } from "../services.ts";
import { cancelWords, estimateWords, exceedsBalance, overBudgetWords, takesOf } from "../takes/cost-words.ts";
import type { TextsState } from "./use-texts.ts";
import { BusyButton } from "../ui/buttons.tsx";
import { errorSentence, isRefusal } from "../ui/errors.ts";
import { CreditLink, notify } from "../ui/notices.tsx";
import { movesFocus } from "../ui/window-focus.ts";
import classes from "../takes/strip.module.css";

type Props = {
  project: ProjectWithPredictions;
  step: Step;
  /** Whether it is the next action on this page. */
  isNext: boolean;
  options: StepOptions;
  latest: Prediction | null;
  /** Why it cannot be started yet. */
  notYet: string | null;
  canStart: boolean;
  /** There is unsaved text, which is saved first. */
  isUnsaved: boolean;
  /** Whether the service knows the settings. */
  isPlanSaved: boolean;
  /** The project's, as it would be saved. */
  prompt: string;
  starting: ReturnType<typeof useStartStep>;
  cancel: ReturnType<typeof useCancel>;
};

/** What a start has beside the plan. */
type Choices = Pick<StepBody["video"], "prompt" | "seed" | "elements" | "count">;

const TAKES = Array.from({ length: 8 }, (_, at) => ({
  value: `${at + 1}`,
  label: at === 0 ? "1 take" : `${at + 1} takes`,
}));

export function StepActions({ project, step, latest, notYet, canStart, starting, cancel, ...props }: Props) {
  const [takes, setTakes] = useState("1");
  const { prompt, seed, elements } = props.options;
  const choices: Choices = {
    ...(seed != null && { seed }),
    ...(elements && { elements }),
    ...(takes !== "1" && { count: Number(takes) }),
  };
  const isOfStep = prompt != null || props.prompt === project.textPrompt || props.prompt.trim() === "";
  const withUnsaved = isOfStep ? choices : { ...choices, prompt: props.prompt };
  const startButton = useRef<HTMLButtonElement>(null);
  const running = isRunning(latest) ? latest : null;
  const canAsk = canStart && notYet === null && running === null;
  const { estimate, isOld, refusal } = useEstimate(
    project,
    step,
    withUnsaved,
    props.options,
    canAsk,
    props.isPlanSaved,
  );
  // Only said: the budget may have room again when it is started, and the service decides then. What it says is not said twice.
  const problem =
    notYet ??
    (starting.error === null ? (refusal ?? (estimate && overBudgetWords(estimate, takesOf(Number(takes))))) : null);
  const Icon = latest === null ? IconPlayerPlay : IconReload;
  const again = latest === null ? "Generate" : "Generate again";
  const words = props.isUnsaved ? "Save and generate" : again;
  const name = STEP_NAME[step].toLowerCase();
  const ofEstimate = isOld ? { c: "dimmed", td: "line-through", "data-old": true } : {};
  return (
    <div className={classes.actions}>
      <Group gap="xs">
        <BusyButton
          ref={startButton}
          size="sm"
          variant={props.isNext ? "filled" : "default"}
          isBusy={starting.isStarting}
          isOff={notYet !== null || running !== null || !canStart}
          aria-label={`${words}: ${name}`}
          aria-describedby={`estimate-${step} problem-${step}`}
          aria-keyshortcuts="Control+Enter"
          data-generate={props.isNext ? "next" : ""}
          leftSection={<Icon size={16} />}
          onClick={() => starting.start(choices, props.options)}
        >
          {words}
        </BusyButton>
        <NativeSelect
          size="sm"
          aria-label={`Takes: ${name}`}
          rightSectionProps={{ "aria-hidden": true }}
          data={TAKES}
          value={takes}
          onChange={({ currentTarget }) => setTakes(currentTarget.value)}
        />
        {running !== null && (
          <BusyButton
            ref={movesFocus(() => startButton.current?.focus())} // it goes when the prediction ends
            variant="default"
            size="sm"
            isBusy={cancel.isPending}
            aria-label={`${cancel.isPending ? "Canceling…" : "Cancel"}: ${name}`}
            leftSection={<IconPlayerStop size={16} />}
            onClick={() => cancel.mutate([running])}
          >
            {cancel.isPending ? "Canceling…" : "Cancel"}
          </BusyButton>
        )}
        <Text size="sm" id={`estimate-${step}`} hidden={estimate === null} {...ofEstimate}>
          {estimate && estimateWords(estimate)}
        </Text>
      </Group>
      <Text size="sm" mt={6} id={`problem-${step}`} hidden={!problem && running === null}>
        {problem ?? (running && cancelWords([running]))}
        {problem && problem !== refusal && estimate && exceedsBalance(estimate) && (
          <>
            {" "}
            <CreditLink />
          </>
        )}
      </Text>
    </div>
  );
}

const AFTER_TYPING_MS = 400;

/**
 * What a start would cost. Null while that is not known, not wanted or refused; `refusal` says why the input would be refused. `isOld`: it
 * is that of the settings before.
 */
function useEstimate(
  project: ProjectWithPredictions,
  step: Step,
  choices: Choices,
  options: StepOptions,
  isWanted: boolean,
  isPlanSaved: boolean,
): { estimate: Estimate | null; isOld: boolean; refusal: string | null } {
  const keyframe = useKeyframe();
  const { projectId, takes, aspectRatio, textPrompt, elementIds, filmId, referenceImagePath } = project;
  const isSeen = useDocumentVisibility() === "visible";
  // What the input has from the project and its plan. Not its version: the settings are saved while their price is read.
  const asked = hashKey([
    choices,
    options,
    [aspectRatio, textPrompt, elementIds, filmId, referenceImagePath],
    takes["first-frame"]?.predictionId,
    takes["last-frame"]?.predictionId,
  ]);
  const [settled] = useDebouncedValue(asked, AFTER_TYPING_MS);
  const { data, error, isPlaceholderData } = useQuery({
    queryKey: ["estimate", projectId, step, asked],
    queryFn: ({ signal }) => keyframe.estimate<Step>(step, { projectId, ...choices } as StepBody[Step], { signal }), // as in a start
    enabled: isWanted && isPlanSaved && isSeen && settled === asked,
    retry: false,
    staleTime: 60_000,
    placeholderData: keepPreviousData,
  });
  const isRefused = isWanted && isRefusal(error, "invalid_request", "unsupported_input", "model_unavailable");
  return {
    estimate: isWanted && error === null ? (data ?? null) : null,
    isOld: isPlaceholderData,
    refusal: isRefused ? errorSentence(error) : null,
  };
}

/** All that decides what a start makes. */
type Asked = { choices: Choices; options: StepOptions; textPrompt: string; after: string | undefined };

/**
 * Saves unsaved texts, then starts a step: people expect what they see to be generated. The button stays busy for somebody who leaves the
 * page meanwhile and comes back: a second start would be paid for too.
 */
export function useStartStep(projectId: string, step: Step, latest: Prediction | null, { texts, save }: TextsState) {
  const queries = useQueryClient();
  const mutationKey = ["start", projectId, step];
  const { mutate, error, reset, variables } = useOnce(
    async (keyframe, { choices }: Asked, once) => {
      await save();
      return keyframe.generate<Step>(step, { projectId, ...choices } as StepBody[Step], once);
    },
    // Also while the project cannot be read again: it runs, and is paid for.
    (prediction) => {
      queries.setQueryData<ProjectWithPredictions>(
        projectKey(projectId),
        (known) => known && { ...known, predictions: { ...known.predictions, [step]: prediction } },
      );
      const { length } = prediction.predictions ?? [];
      if (length > 1) notify(`${length} takes started.`);
    },
    mutationKey,
  );
  const isStarting = useIsMutating({ mutationKey }) > 0;
  return {
    // After a run that is known it is another one: not the one whose answer was lost.
    start: (choices: Choices, options: StepOptions) =>
      mutate({ choices, options, textPrompt: texts.textPrompt, after: latest?.predictionId }),
    isStarting,
    error,
    /** How many takes were asked for. */
    count: variables?.choices.count ?? 1,
    /** Other settings may be accepted. */
    forgive: () => error !== null && reset(),
  };
}

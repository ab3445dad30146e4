import { Group, Text } from "@mantine/core";
import { useDebouncedValue, useDocumentVisibility } from "@mantine/hooks";
import { IconPlayerPlay, IconPlayerStop, IconReload } from "@tabler/icons-react";
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import {
  type Estimate,
  KeyframeError,
  type Prediction,
  type ProjectWithPredictions,
  type Step,
  type StepBody,
} from "../../../client/index.ts";
import type { Choices } from "./step-options.ts";
import { isRunning, projectKeys, storePrediction } from "../projects/prediction-cache.ts";
import { MODELS_KEY } from "./use-models.ts";
import { useKeyframe, useRepeatKey } from "../services.ts";
import { estimateWords, overBudgetWords } from "../ui/money.ts";
import { MONEY_KEY } from "../usage/use-usage.ts";
import type { TextsState } from "./texts/use-texts.ts";
import { BusyButton } from "../ui/buttons.tsx";
import { isRefusal } from "../ui/errors.ts";
import { movesFocus } from "../ui/window-focus.ts";

type Props = {
  project: ProjectWithPredictions;
  step: Step;
  /** What would be started. */
  choices: Choices;
  latest: Prediction | null;
  /** Why it cannot be started yet. */
  notYet: string | null;
  canStart: boolean;
  /** There is unsaved text, which is saved first. */
  isUnsaved: boolean;
  starting: ReturnType<typeof useStartStep>;
  cancel: ReturnType<typeof useCancelPrediction>;
};

export function StepActions({ project, step, choices, latest, notYet, canStart, isUnsaved, starting, cancel }: Props) {
  const startButton = useRef<HTMLButtonElement>(null);
  const running = isRunning(latest) ? latest : null;
  const canAsk = canStart && notYet === null && running === null;
  const estimate = useEstimate(project, step, choices, canAsk);
  // Only said: the budget may have room again when it is started, and the service decides then. What it says is not said twice.
  const problem = notYet ?? (estimate && starting.error === null ? overBudgetWords(estimate) : null);
  const Icon = latest === null ? IconPlayerPlay : IconReload;
  return (
    <>
      <Group gap="xs">
        <BusyButton
          ref={startButton}
          size="sm"
          isBusy={starting.isStarting}
          isOff={notYet !== null || running !== null || !canStart}
          aria-describedby={`estimate-${step} problem-${step}`}
          leftSection={<Icon size={16} aria-hidden />}
          onClick={() => starting.start(choices)}
        >
          {isUnsaved ? "Save and generate" : latest === null ? "Generate" : "Generate again"}
        </BusyButton>
        {running !== null && (
          <BusyButton
            ref={movesFocus(() => startButton.current?.focus())} // it goes when the prediction ends
            variant="default"
            size="sm"
            isBusy={cancel.isPending}
            leftSection={<IconPlayerStop size={16} aria-hidden />}
            onClick={() => cancel.mutate(running)}
          >
            {cancel.isPending ? "Canceling…" : "Cancel"}
          </BusyButton>
        )}
        <Text size="sm" c="dimmed" id={`estimate-${step}`} hidden={estimate === null}>
          {estimate && estimateWords(estimate)}
        </Text>
      </Group>
      <Text size="sm" id={`problem-${step}`} hidden={problem === null}>
        {problem}
      </Text>
    </>
  );
}

const AFTER_TYPING_MS = 400;

/** What a start would cost. Null while that is not known, not wanted or refused: then the form or the start itself says why. */
function useEstimate(
  project: ProjectWithPredictions,
  step: Step,
  choices: Choices,
  isWanted: boolean,
): Estimate | null {
  const keyframe = useKeyframe();
  const { projectId, updatedAt, takes } = project;
  const isSeen = useDocumentVisibility() === "visible";
  // The frames and the ratio of the project belong to the input too.
  const asked = JSON.stringify([
    choices,
    updatedAt,
    takes["first-frame"]?.predictionId,
    takes["last-frame"]?.predictionId,
  ]);
  const [settled] = useDebouncedValue(asked, AFTER_TYPING_MS);
  const { data, isError } = useQuery({
    queryKey: [...MONEY_KEY, "estimate", projectId, step, asked],
    queryFn: ({ signal }) => keyframe.estimate<Step>(step, { projectId, ...choices } as StepBody[Step], { signal }), // as in a start
    enabled: isWanted && isSeen && settled === asked,
    retry: false,
    staleTime: 60_000,
    placeholderData: keepPreviousData,
  });
  return isWanted && !isError ? (data ?? null) : null;
}

/**
 * Saves unsaved texts, then starts a step: people expect what they see to be generated. A second click meanwhile does nothing. After a lost answer the same choices keep their idempotency key, so
 * that a prediction is not started and paid for twice.
 */
export function useStartStep(projectId: string, step: Step, { texts, save }: TextsState) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  const { keyFor, forget } = useRepeatKey();
  const mutationKey = ["start", projectId, step];
  const mutation = useMutation({
    mutationKey,
    mutationFn: async (choices: Choices) => {
      await save();
      const idempotencyKey = keyFor([choices, texts.textPrompt]);
      // The fields come from the model's own row, so they fit its step; the service checks them.
      const body = { projectId, ...choices } as StepBody[Step];
      return keyframe.generate<Step>(step, body, { idempotencyKey });
    },
    onSuccess: (prediction) => {
      forget();
      storePrediction(queries, prediction);
      void queries.invalidateQueries({ queryKey: MONEY_KEY });
    },
    onError: (error) => {
      const isRefused = error instanceof KeyframeError && error.status !== null && error.status < 500;
      if (isRefused) forget();
      if (isRefusal(error, "model_unavailable")) void queries.invalidateQueries({ queryKey: MODELS_KEY });
    },
  });
  return {
    start: (choices: Choices) => {
      if (queries.isMutating({ mutationKey }) === 0) mutation.mutate(choices);
    },
    isStarting: mutation.isPending,
    error: mutation.error,
    /** Other settings may be accepted. */
    forgive: () => mutation.error !== null && mutation.reset(),
  };
}

/** Cancels a prediction. If it has just ended, shows how instead of an error. */
export function useCancelPrediction(projectId: string) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (prediction: Prediction) => {
      try {
        storePrediction(queries, await keyframe.cancel(prediction));
      } catch (error) {
        if (!isRefusal(error, "generation_ended")) throw error;
        await queries.invalidateQueries({ queryKey: projectKeys.one(projectId) });
      }
    },
  });
}

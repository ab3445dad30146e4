import { Group, Text } from "@mantine/core";
import { IconPlayerPlay, IconPlayerStop, IconReload } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useLayoutEffect, useRef } from "react";
import { KeyframeError, type Prediction, type Step, type StepBody } from "../../../client/index.ts";
import type { Choices } from "./step-options.ts";
import { isRunning, projectKeys, storePrediction } from "../projects/prediction-cache.ts";
import { MODELS_KEY } from "./use-models.ts";
import { useKeyframe, useRepeatKey } from "../services.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import type { TextsState } from "./texts/use-texts.ts";

type Props = {
  step: Step;
  latest: Prediction | null;
  /** Why it cannot be started yet. */
  notYet: string | null;
  canStart: boolean;
  /** There is unsaved text, which is saved first. */
  isUnsaved: boolean;
  isStarting: boolean;
  isCanceling: boolean;
  onStart: () => void;
  onCancel: (prediction: Prediction) => void;
};

export function StepActions({ step, latest, notYet, canStart, isUnsaved, isStarting, ...props }: Props) {
  const startButton = useRef<HTMLButtonElement>(null);
  const running = isRunning(latest) ? latest : null;
  const Icon = latest === null ? IconPlayerPlay : IconReload;
  return (
    <>
      <Group gap="xs">
        <BusyButton
          ref={startButton}
          size="sm"
          isBusy={isStarting}
          isOff={notYet !== null || running !== null || !canStart}
          aria-describedby={notYet === null ? undefined : `not-yet-${step}`}
          leftSection={<Icon size={16} aria-hidden />}
          onClick={props.onStart}
        >
          {isUnsaved ? "Save and generate" : latest === null ? "Generate" : "Generate again"}
        </BusyButton>
        {running !== null && (
          <CancelButton
            isBusy={props.isCanceling}
            onCancel={() => props.onCancel(running)}
            onGoneWithFocus={() => startButton.current?.focus()}
          />
        )}
      </Group>
      {notYet !== null && (
        <Text size="sm" id={`not-yet-${step}`}>
          {notYet}
        </Text>
      )}
    </>
  );
}

type CancelButtonProps = { isBusy: boolean; onCancel: () => void; onGoneWithFocus: () => void };

/** Unmounts when the prediction ends; a focus on it must move. */
function CancelButton({ isBusy, onCancel, onGoneWithFocus }: CancelButtonProps) {
  const button = useRef<HTMLButtonElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is about the end of the button alone
  useLayoutEffect(() => {
    const here = button.current;
    return () => {
      if (here !== null && here === document.activeElement) queueMicrotask(onGoneWithFocus);
    };
  }, []);
  return (
    <BusyButton
      ref={button}
      variant="default"
      size="sm"
      isBusy={isBusy}
      leftSection={<IconPlayerStop size={16} aria-hidden />}
      onClick={onCancel}
    >
      {isBusy ? "Canceling…" : "Cancel"}
    </BusyButton>
  );
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
    },
    onError: (error) => {
      const isRefused = error instanceof KeyframeError && error.status !== null && error.status < 500;
      if (isRefused) forget();
      if (error instanceof KeyframeError && error.code === "model_unavailable") {
        void queries.invalidateQueries({ queryKey: MODELS_KEY });
      }
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
        if (!(error instanceof KeyframeError) || error.code !== "generation_ended") throw error;
        await queries.invalidateQueries({ queryKey: projectKeys.one(projectId) });
      }
    },
  });
}

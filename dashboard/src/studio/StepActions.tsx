import { Group, Text } from "@mantine/core";
import { IconPlayerPlay, IconReload } from "@tabler/icons-react";
import { useRef } from "react";
import type { Prediction, Step } from "../../../client/index.ts";
import { isRunning } from "../projects/is-running.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { CancelRun } from "./CancelRun.tsx";

type Props = {
  step: Step;
  latest: Prediction | null;
  /** Why it cannot be started yet. */
  notYet: string | null;
  canStart: boolean;
  isStarting: boolean;
  isCanceling: boolean;
  onStart: () => void;
  onCancel: (run: Prediction) => void;
};

/** Starts a step, or cancels the run of it that is under way. */
export function StepActions({ step, latest, notYet, canStart, isStarting, isCanceling, onStart, onCancel }: Props) {
  const startButton = useRef<HTMLButtonElement>(null);
  const running = isRunning(latest) ? latest : null;
  const Icon = latest === null ? IconPlayerPlay : IconReload;
  return (
    <>
      {notYet !== null && (
        <Text size="sm" id={`not-yet-${step}`}>
          {notYet}
        </Text>
      )}
      <Group gap="xs">
        <BusyButton
          ref={startButton}
          size="sm"
          isBusy={isStarting}
          isOff={notYet !== null || running !== null || !canStart}
          aria-describedby={notYet === null ? undefined : `not-yet-${step}`}
          leftSection={<Icon size={16} aria-hidden />}
          onClick={onStart}
        >
          {latest === null ? "Generate" : "Run again"}
        </BusyButton>
        {running !== null && (
          <CancelRun
            isBusy={isCanceling}
            onCancel={() => onCancel(running)}
            onGoneWithFocus={() => startButton.current?.focus()}
          />
        )}
      </Group>
    </>
  );
}

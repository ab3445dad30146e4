import { Button, Center, Drawer, Group, Skeleton, Stack, Text } from "@mantine/core";
import { IconCheck, IconDownload } from "@tabler/icons-react";
import type { Prediction, ProjectWithPredictions, Step } from "../../../client/index.ts";
import { STEP_NAME } from "../projects/status.tsx";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/messages.tsx";
import { Time } from "../ui/Time.tsx";
import { useOpened } from "../ui/window-focus.ts";
import { PredictionState } from "./PredictionState.tsx";
import classes from "./screen.module.css";
import { StepScreen } from "./StepScreen.tsx";
import { useDownload } from "./use-download.ts";
import { usePredictions } from "./use-predictions.ts";

type Props = {
  project: ProjectWithPredictions;
  step: Step;
  isOpen: boolean;
  onClose: () => void;
  chosen: ChosenFrames;
  onChoose: (step: FrameStep, prediction: Prediction) => void;
};

/** All predictions of a step. An earlier frame can be chosen for the next video. */
export default function HistoryDrawer({ project, step, isOpen, onClose, chosen, onChoose }: Props) {
  const history = usePredictions(project.projectId, step, isOpen);
  const all = history.data?.pages.flatMap((page) => page.predictions);
  const name = STEP_NAME[step].toLowerCase();
  return (
    <Drawer
      opened={useOpened(isOpen)}
      onClose={onClose}
      position="right"
      title={`History of the ${name}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stack gap="lg">
        {all === undefined && history.error === null && [0, 1, 2].map((key) => <Skeleton key={key} h={96} />)}
        {history.error !== null && (
          <ErrorNotice
            title="Could not load the history"
            error={history.error}
            onRetry={() => void history.refetch()}
          />
        )}
        {all?.map((prediction) => (
          <HistoryEntry
            key={prediction.predictionId}
            prediction={prediction}
            project={project}
            {...(step !== "video" && prediction.output !== null
              ? {
                  isChosen: chosen[step]?.predictionId === prediction.predictionId,
                  onChoose: () => onChoose(step, prediction),
                }
              : {})}
          />
        ))}
        {history.hasNextPage && (
          <Center>
            <BusyButton
              variant="default"
              isBusy={history.isFetchingNextPage}
              onClick={() => void history.fetchNextPage()}
            >
              Load more
            </BusyButton>
          </Center>
        )}
      </Stack>
    </Drawer>
  );
}

type HistoryEntryProps = {
  prediction: Prediction;
  project: ProjectWithPredictions;
  isChosen?: boolean;
  onChoose?: () => void;
};

function HistoryEntry({ prediction, project, isChosen = false, onChoose }: HistoryEntryProps) {
  const download = useDownload(project.title);
  const hasFile = prediction.output !== null;
  return (
    <div className={classes.historyEntry} data-wide={prediction.step === "video" || undefined}>
      <StepScreen step={prediction.step} latest={prediction} shown={prediction} prompt={project.textPrompt} />
      <Stack gap={2} miw={0}>
        <PredictionState prediction={prediction} isCanceling={false} />
        <Text size="xs" c="dimmed">
          <Time iso={prediction.createdAt} />
        </Text>
        <Text size="xs" c="dimmed" truncate title={prediction.model}>
          {prediction.model}
        </Text>
        {prediction.error !== null && <Text size="xs">{prediction.error.message}</Text>}
        <Group gap="xs" mt={4}>
          {onChoose !== undefined && (
            <Button
              size="compact-sm"
              variant={isChosen ? "light" : "default"}
              aria-pressed={isChosen}
              leftSection={isChosen ? <IconCheck size={14} aria-hidden /> : undefined}
              onClick={onChoose}
            >
              {isChosen ? "Selected for next video" : "Use for next video"}
            </Button>
          )}
          {hasFile && (
            <BusyButton
              size="compact-sm"
              variant="default"
              isBusy={download.isPending}
              leftSection={<IconDownload size={14} aria-hidden />}
              onClick={() => download.mutate(prediction)}
            >
              Download
            </BusyButton>
          )}
        </Group>
      </Stack>
    </div>
  );
}

export type FrameStep = "first-frame" | "last-frame";

/** Earlier frames chosen for the next video instead of the latest. */
export type ChosenFrames = Partial<Record<FrameStep, Prediction>>;

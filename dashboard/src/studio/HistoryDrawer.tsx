import { Button, Center, Drawer, Group, Skeleton, Stack, Text } from "@mantine/core";
import { IconCheck, IconDownload } from "@tabler/icons-react";
import type { Prediction, ProjectWithPredictions, Step } from "../../../client/index.ts";
import { STEP_NAME } from "../projects/RunStatus.tsx";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/messages.tsx";
import { Time } from "../ui/Time.tsx";
import { useOpened } from "../ui/window-focus.ts";
import { RunState } from "./RunState.tsx";
import classes from "./screen.module.css";
import { StepScreen } from "./StepScreen.tsx";
import { useDownload } from "./use-download.ts";
import { useRuns } from "./use-runs.ts";

type Props = {
  project: ProjectWithPredictions;
  step: Step;
  isOpen: boolean;
  onClose: () => void;
  chosen: ChosenFrames;
  onChoose: (step: FrameStep, run: Prediction) => void;
};

/** All predictions of a step. An earlier frame can be chosen for the next video. */
export default function HistoryDrawer({ project, step, isOpen, onClose, chosen, onChoose }: Props) {
  const runs = useRuns(project.projectId, step, isOpen);
  const all = runs.data?.pages.flatMap((page) => page.predictions);
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
        {all === undefined && runs.error === null && [0, 1, 2].map((key) => <Skeleton key={key} h={96} />)}
        {runs.error !== null && (
          <ErrorNotice title="Could not load the history" error={runs.error} onRetry={() => void runs.refetch()} />
        )}
        {all?.map((run) => (
          <HistoryRun
            key={run.predictionId}
            run={run}
            project={project}
            {...(step !== "video" && run.output !== null
              ? {
                  isChosen: chosen[step]?.predictionId === run.predictionId,
                  onChoose: () => onChoose(step, run),
                }
              : {})}
          />
        ))}
        {runs.hasNextPage && (
          <Center>
            <BusyButton variant="default" isBusy={runs.isFetchingNextPage} onClick={() => void runs.fetchNextPage()}>
              Load more
            </BusyButton>
          </Center>
        )}
      </Stack>
    </Drawer>
  );
}

type HistoryRunProps = { run: Prediction; project: ProjectWithPredictions; isChosen?: boolean; onChoose?: () => void };

function HistoryRun({ run, project, isChosen = false, onChoose }: HistoryRunProps) {
  const download = useDownload(project.title);
  const hasFile = run.output !== null;
  return (
    <div className={classes.historyRun} data-wide={run.step === "video" || undefined}>
      <StepScreen step={run.step} latest={run} shown={run} prompt={project.textPrompt} />
      <Stack gap={2} miw={0}>
        <RunState run={run} isCanceling={false} />
        <Text size="xs" c="dimmed">
          <Time iso={run.createdAt} />
        </Text>
        <Text size="xs" c="dimmed" truncate title={run.model}>
          {run.model}
        </Text>
        {run.error !== null && <Text size="xs">{run.error.message}</Text>}
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
              onClick={() => download.mutate(run)}
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

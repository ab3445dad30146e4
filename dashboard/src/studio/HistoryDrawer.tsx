import { Center, Drawer, Skeleton, Stack } from "@mantine/core";
import type { Prediction, ProjectWithPredictions, Step } from "../../../client/index.ts";
import { STEP_NAME } from "../projects/step-words.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/ErrorNotice.tsx";
import { useOpened } from "../ui/use-opened.ts";
import type { ChosenFrames, FrameStep } from "./chosen-frames.ts";
import { HistoryRun } from "./HistoryRun.tsx";
import { useRuns } from "./use-runs.ts";

type Props = {
  project: ProjectWithPredictions;
  step: Step;
  isOpen: boolean;
  onClose: () => void;
  chosen: ChosenFrames;
  onChoose: (step: FrameStep, run: Prediction) => void;
};

/** Every run of a step, with what it made. An earlier frame can be taken for the next video. */
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
          <ErrorNotice title="The history could not be read" error={runs.error} onRetry={() => void runs.refetch()} />
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

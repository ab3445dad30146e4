import { Button, Group, Stack, Text } from "@mantine/core";
import { IconCheck, IconDownload } from "@tabler/icons-react";
import type { Prediction, ProjectWithPredictions } from "../../../client/index.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { Time } from "../ui/Time.tsx";
import classes from "./history.module.css";
import { RunState } from "./RunState.tsx";
import { StepScreen } from "./StepScreen.tsx";
import { useDownload } from "./use-download.ts";

type Props = { run: Prediction; project: ProjectWithPredictions; isChosen?: boolean; onChoose?: () => void };

/** One run of the past, or of now. */
export function HistoryRun({ run, project, isChosen = false, onChoose }: Props) {
  const download = useDownload(project.title);
  const hasFile = run.output !== null;
  return (
    <div className={classes.run} data-wide={run.step === "video" || undefined}>
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
              {isChosen ? "For the next video" : "Use for the next video"}
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

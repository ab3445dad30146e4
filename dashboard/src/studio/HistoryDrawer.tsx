import { Button, Checkbox, Drawer, Group, Stack, Text } from "@mantine/core";
import { IconCheck, IconRestore } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { hasEnded, type Prediction, type ProjectWithPredictions, type Step } from "../../../client/index.ts";
import { projectKeys, selectionOf } from "../projects/prediction-cache.ts";
import type { useChangeProject } from "../projects/project-queries.ts";
import { STEP_NAME, USE } from "../projects/status-words.ts";
import { LoadMore, Unread } from "../ui/page-parts.tsx";
import { Time } from "../ui/Time.tsx";
import { useOpened } from "../ui/window-focus.ts";
import { PredictionState } from "../projects/status.tsx";
import { MadeFrom, Sources } from "./Sources.tsx";
import classes from "./screen.module.css";
import { inputWords } from "./step-options.ts";
import { StepScreen } from "./StepScreen.tsx";
import { TakeMenu } from "./TakeMenu.tsx";
import { usePredictions } from "./use-predictions.ts";
import { ErrorNotice } from "../ui/notices.tsx";

type Props = {
  project: ProjectWithPredictions;
  step: Step;
  isOpen: boolean;
  onClose: () => void;
  onReuse: (prediction: Prediction) => void;
  select: ReturnType<typeof useChangeProject>;
};

/** All predictions of a step with their inputs. A take can be selected, hidden and deleted. */
export default function HistoryDrawer({ project, step, isOpen, onClose, onReuse, select }: Props) {
  const queries = useQueryClient();
  const [withHidden, setWithHidden] = useState(false);
  const history = usePredictions(project.projectId, step, isOpen, withHidden);
  const all = history.data?.pages.flatMap((page) => page.predictions);
  const name = STEP_NAME[step].toLowerCase();
  const usedId = project.selected[step] ?? project.takes[step]?.predictionId;
  const choice = (prediction: Prediction) => {
    const { predictionId, output } = prediction;
    if (output === null) return {};
    const choose = () => {
      if (predictionId === usedId) return;
      queries.setQueryData(projectKeys.prediction(predictionId), prediction); // shown without another read
      select.mutate({ change: { selected: selectionOf(project, prediction) } });
    };
    return { isChosen: predictionId === usedId, onChoose: choose };
  };
  return (
    <Drawer opened={useOpened(isOpen)} onClose={onClose} position="right" title={`History of the ${name}`}>
      <Stack gap="lg">
        <Unread query={history} what="the history" heights={[96, 96, 96]} />
        {select.error !== null && <ErrorNotice title="Could not change the project" error={select.error} />}
        {all?.map((prediction) => (
          <HistoryEntry
            key={prediction.predictionId}
            prediction={prediction}
            project={project}
            onReuse={() => onReuse(prediction)}
            {...choice(prediction)}
          />
        ))}
        {all?.length === 0 && (
          <Text size="sm">{withHidden ? "Nothing here." : "Nothing here that is not hidden."}</Text>
        )}
        <LoadMore of={history} />
        {all !== undefined && (
          <Checkbox
            size="xs"
            label="Show hidden"
            checked={withHidden}
            onChange={({ currentTarget }) => setWithHidden(currentTarget.checked)}
          />
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
  onReuse: () => void;
};

function HistoryEntry({ prediction, project, isChosen = false, onChoose, onReuse }: HistoryEntryProps) {
  const { step, input, error, model, requestedModel, createdAt } = prediction;
  const references = input.referenceImagePaths.map((frame, at) => ({ alt: `Reference ${at + 1}`, frame }));
  const madeBy = requestedModel === null ? model : `${model} instead of ${requestedModel}`;
  return (
    <div className={classes.historyEntry} data-wide={step === "video" || undefined}>
      <StepScreen step={step} latest={prediction} shown={prediction} prompt={input.prompt} />
      <Stack gap={2} miw={0}>
        <PredictionState prediction={prediction} isCanceling={false} />
        <Text size="xs" c="dimmed" truncate title={madeBy}>
          <Time iso={createdAt} /> · {madeBy}
        </Text>
        <Text size="xs" c="dimmed">
          {inputWords(input)}
        </Text>
        {error !== null && <Text size="xs">{error.message}</Text>}
        <Text size="sm" lineClamp={3} title={input.prompt} style={{ overflowWrap: "anywhere" }}>
          {input.prompt}
        </Text>
        {references.length > 0 && <Sources project={project} label="Reference" sources={references} />}
        <MadeFrom project={project} prediction={prediction} />
        <Group gap="xs" mt={4}>
          {onChoose !== undefined && (
            <Button
              size="compact-sm"
              variant={isChosen ? "light" : "default"}
              aria-pressed={isChosen}
              leftSection={isChosen ? <IconCheck size={14} aria-hidden /> : undefined}
              onClick={onChoose}
            >
              {(isChosen ? "Used " : "Use ") + USE[step]}
            </Button>
          )}
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconRestore size={14} aria-hidden />}
            onClick={onReuse}
          >
            Use these inputs
          </Button>
          {hasEnded(prediction) && <TakeMenu prediction={prediction} title={project.title} />}
        </Group>
      </Stack>
    </div>
  );
}

import { Checkbox, Drawer, Stack, Text } from "@mantine/core";
import { IconColumns2, IconMaximize } from "@tabler/icons-react";
import { useState } from "react";
import type { Prediction, Step } from "../../../client/index.ts";
import { STEP_NAME } from "../projects/status-words.ts";
import { SmallButton } from "../ui/buttons.tsx";
import { ErrorNotice } from "../ui/notices.tsx";
import { LoadMore, Unread } from "../ui/page-parts.tsx";
import { KeepFocus, useIsOnTop, useOpened } from "../ui/window-focus.ts";
import { AboutTake, type TakesProps } from "./AboutTake.tsx";
import classes from "./screen.module.css";
import { StepScreen } from "./StepScreen.tsx";
import { usePredictions } from "./use-predictions.ts";

type Props = TakesProps & {
  step: Step;
  isOpen: boolean;
  onClose: () => void;
  /** One take, or two to compare. */
  onEnlarge: (...takes: Prediction[]) => void;
};

/** All predictions of a step with their inputs. */
export function HistoryDrawer({ step, isOpen, onClose, onEnlarge, ...about }: Props) {
  const { project, select } = about;
  const [withHidden, setWithHidden] = useState(false);
  /** The first of two takes to compare. */
  const [marked, setMarked] = useState<Prediction | null>(null);
  const history = usePredictions(project.projectId, step, isOpen, withHidden);
  const all = history.data?.pages.flatMap((page) => page.predictions);
  const isMarked = ({ predictionId }: Prediction) => predictionId === marked?.predictionId;
  const compare = (prediction: Prediction) => {
    setMarked(marked === null ? prediction : null);
    if (marked !== null && !isMarked(prediction)) onEnlarge(marked, prediction);
  };
  const count = all?.length;
  return (
    <Drawer
      opened={useOpened(isOpen)}
      onClose={onClose}
      closeOnEscape={useIsOnTop(isOpen)}
      position="right"
      title={`History of the ${STEP_NAME[step].toLowerCase()}`}
    >
      <Stack gap="lg">
        <KeepFocus key={count} />
        <Unread query={history} what="the history" heights={[96, 96, 96]} />
        <ErrorNotice title="Could not change the project" error={select.error} />
        {all?.map((prediction) => (
          <div key={prediction.predictionId} className={classes.historyEntry} data-wide={step === "video" || undefined}>
            <StepScreen step={step} latest={prediction} shown={prediction} prompt={prediction.input.prompt} />
            <AboutTake {...about} prediction={prediction} lines={3}>
              {prediction.output !== null && (
                <>
                  <SmallButton size="compact-sm" Icon={IconMaximize} onClick={() => onEnlarge(prediction)}>
                    Enlarge
                  </SmallButton>
                  <SmallButton
                    size="compact-sm"
                    variant={isMarked(prediction) ? "light" : "default"}
                    aria-pressed={isMarked(prediction)}
                    Icon={IconColumns2}
                    onClick={() => compare(prediction)}
                  >
                    Compare
                  </SmallButton>
                </>
              )}
            </AboutTake>
          </div>
        ))}
        <Text size="sm" role="status" className={classes.hint}>
          {marked !== null && "Press Compare on the other take."}
        </Text>
        {count === 0 && <Text size="sm">Nothing here.{!withHidden && " What is hidden is not shown."}</Text>}
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

import { Checkbox, Drawer, Stack, Text, UnstyledButton } from "@mantine/core";
import { Fragment, useState } from "react";
import type { Prediction, Step } from "../../../client/index.ts";
import { isRunning, projectNoun } from "../queries/project-queries.ts";
import { statusWords, STEP_NAME } from "./status-words.ts";
import { SmallButton } from "../ui/buttons.tsx";
import link from "../ui/cover-link.module.css";
import { relativeTime } from "../ui/format-time.ts";
import { IconColumns2, IconMaximize } from "../ui/icons.tsx";
import { ErrorNotice } from "../ui/notices.tsx";
import { LoadMore, Unread } from "../ui/page-parts.tsx";
import { KeepFocus, useIsOnTop, useOpened } from "../ui/window-focus.ts";
import { AboutTake, isUsed, type TakesProps } from "./AboutTake.tsx";
import classes from "./takes.module.css";
import { StepScreen } from "./StepScreen.tsx";
import { factsOf } from "./input-words.ts";
import { useModelLabel } from "../queries/use-models.ts";
import { usePredictions } from "../queries/use-predictions.ts";

type Props = TakesProps & {
  step: Step;
  isOpen: boolean;
  onClose: () => void;
  /** One take, or two to compare. */
  onEnlarge: (...takes: Prediction[]) => void;
};

/** All predictions of a step as a contact sheet: each with what differs among them, the chosen one with all of its inputs. */
export function TakesDrawer({ step, isOpen, onClose, onEnlarge, ...about }: Props) {
  const { project, select } = about;
  const [withHidden, setWithHidden] = useState(false);
  const [chosenId, setChosenId] = useState<string>();
  /** The first of two takes to compare. */
  const [marked, setMarked] = useState<Prediction | null>(null);
  const list = usePredictions(project.projectId, step, isOpen, withHidden);
  const all = list.data?.pages.flatMap((page) => page.predictions);
  const chosen = all?.find(({ predictionId }) => predictionId === chosenId) ?? all?.[0];
  const differencesOf = useDifferences(all ?? []);
  const press = (prediction: Prediction) => {
    setChosenId(prediction.predictionId);
    if (marked === null || prediction.output === null || prediction.predictionId === marked.predictionId) return;
    setMarked(null);
    onEnlarge(marked, prediction);
  };
  const count = all?.length;
  return (
    <Drawer
      opened={useOpened(isOpen)}
      onClose={onClose}
      closeOnEscape={useIsOnTop(isOpen)}
      position="right"
      size="xl"
      title={`Takes of the ${STEP_NAME[step].toLowerCase()}`}
    >
      <Stack gap="lg">
        <KeepFocus key={count} />
        <Unread query={list} what="the takes" heights={[96, 96, 96]} />
        <ErrorNotice title={`Could not change the ${projectNoun(project)}`} error={select.error} />
        <ol className={`plain-list ${classes.sheet}`} aria-label="Takes">
          {all?.map((prediction) => (
            <Fragment key={prediction.predictionId}>
              <li className={classes.cell} data-status={prediction.status}>
                <StepScreen
                  isStill
                  step={step}
                  latest={prediction}
                  shown={prediction}
                  isSelected={isUsed(project, prediction)}
                  prompt={prediction.input.prompt}
                />
                <UnstyledButton
                  className={link.cover}
                  aria-pressed={prediction === chosen}
                  onClick={() => press(prediction)}
                >
                  <Text span size="xs" lineClamp={2} mt={6}>
                    {[...stateWords(prediction), ...differencesOf(prediction)].join(" · ")}
                  </Text>
                </UnstyledButton>
              </li>
              {prediction === chosen && (
                <li className={classes.details}>
                  <AboutTake {...about} prediction={prediction} lines={3}>
                    {prediction.output !== null && (
                      <>
                        <SmallButton size="compact-sm" Icon={IconMaximize} onClick={() => onEnlarge(prediction)}>
                          Enlarge
                        </SmallButton>
                        <SmallButton
                          size="compact-sm"
                          variant={marked === null ? "default" : "light"}
                          aria-pressed={marked !== null}
                          Icon={IconColumns2}
                          onClick={() => setMarked(marked === null ? prediction : null)}
                        >
                          Compare
                        </SmallButton>
                      </>
                    )}
                  </AboutTake>
                </li>
              )}
            </Fragment>
          ))}
        </ol>
        <Text size="sm" role="status" className={classes.hint}>
          {marked !== null && "Choose a second take to compare."}
        </Text>
        {count === 0 && <Text size="sm">No takes.{!withHidden && " Hidden takes are not shown."}</Text>}
        <LoadMore of={list} />
        {all !== undefined && (
          <Checkbox
            size="xs"
            label="Show hidden takes"
            checked={withHidden}
            onChange={({ currentTarget }) => setWithHidden(currentTarget.checked)}
          />
        )}
      </Stack>
    </Drawer>
  );
}

/** The time, and any problem. */
const stateWords = (prediction: Prediction): string[] => [
  relativeTime(prediction.createdAt, Date.now()),
  ...(prediction.status === "succeeded" || isRunning(prediction) ? [] : [statusWords(prediction)]),
  ...(prediction.hidden ? ["Hidden"] : []),
];

/** The inputs in which the predictions differ, in words. Pictures are shown, not described. */
function useDifferences(all: Prediction[]): (prediction: Prediction) => string[] {
  const labelOf = useModelLabel();
  const wordsOf = (one: Prediction) =>
    factsOf(one, labelOf).flatMap(({ name, words, frames }) =>
      frames ? [] : name === "Seed" ? `seed ${words}` : words,
    );
  const lists = all.map(wordsOf);
  const common = (lists[0] ?? []).filter((words) => lists.every((list) => list.includes(words)));
  return (prediction) => wordsOf(prediction).filter((words) => !common.includes(words));
}

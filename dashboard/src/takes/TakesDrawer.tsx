import { Checkbox, Drawer, Stack, Text, UnstyledButton } from "@mantine/core";
import { Fragment, useState } from "react";
import type { Prediction, Step } from "../../../client/index.ts";
import { isRunning, projectNoun } from "../queries/project-queries.ts";
import { useModelLabel } from "../queries/use-models.ts";
import { usePredictions } from "../queries/use-predictions.ts";
import { SmallButton } from "../ui/Buttons.tsx";
import link from "../ui/cover-link.module.css";
import { IconColumns2, IconMaximize } from "../ui/Icons.tsx";
import { ErrorNotice } from "../ui/Notices.tsx";
import { LoadMore, Unread } from "../ui/PageParts.tsx";
import { Time } from "../ui/Time.tsx";
import { type DialogProps, KeepFocus, useModal } from "../ui/dialog-focus.ts";
import { AboutTake } from "./AboutTake.tsx";
import { factsOf } from "./input-words.ts";
import { StepScreen } from "./StepScreen.tsx";
import { statusWords, STEP_NAME } from "./status-words.ts";
import classes from "./takes.module.css";
import { isUsed, type TakesProps } from "./use-takes.ts";

type Props = TakesProps & DialogProps & { step: Step };

/** All predictions of a step as a contact sheet. Each shows what differs, and the chosen one shows all its inputs. */
export function TakesDrawer({ step, isOpen, onClose, ...about }: Props) {
  const { project, selection, view } = about;
  const [withHidden, setWithHidden] = useState(false);
  const [chosenId, setChosenId] = useState<string>();
  /** The first of two takes to compare. */
  const [marked, setMarked] = useState<Prediction | null>(null);
  const list = usePredictions(project.projectId, step, isOpen, withHidden);
  const all = list.data;
  const chosen = all?.find(({ predictionId }) => predictionId === chosenId) ?? all?.[0];
  const differencesOf = useDifferences(all ?? []);
  const choose = (take: Prediction) => {
    setChosenId(take.predictionId);
    if (marked === null || take.output === null || take.predictionId === marked.predictionId) return;
    setMarked(null);
    view.enlarge(marked, take);
  };
  return (
    <Drawer
      {...useModal({ isOpen, onClose })}
      position="right"
      size="xl"
      title={`Takes of the ${STEP_NAME[step].toLowerCase()}`}
    >
      <Stack gap="lg">
        <KeepFocus key={all?.length} />
        <Unread query={list} what="the takes" heights={[96, 96, 96]} />
        <ErrorNotice title={`Could not change the ${projectNoun(project)}`} error={selection.change.error} />
        <ol className={`plain-list ${classes.sheet}`} aria-label="Takes">
          {all?.map((take) => (
            <Fragment key={take.predictionId}>
              <li className={classes.cell} data-status={take.status}>
                <StepScreen
                  isStill
                  step={step}
                  latest={take}
                  shown={take}
                  isSelected={isUsed(project, take)}
                  prompt={take.input.prompt}
                />
                <UnstyledButton className={link.cover} aria-pressed={take === chosen} onClick={() => choose(take)}>
                  <Text span size="xs" lineClamp={2} mt={6}>
                    <Time iso={take.createdAt} />
                    {[...stateWords(take), ...differencesOf(take)].map((words) => ` · ${words}`)}
                  </Text>
                </UnstyledButton>
              </li>
              {take === chosen && (
                <li className={classes.details}>
                  <AboutTake {...about} prediction={take} lines={3}>
                    {take.output !== null && (
                      <LargerButtons take={take} view={view} isMarked={marked !== null} mark={setMarked} />
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
        {all?.length === 0 && <Text size="sm">No takes.{!withHidden && " Hidden takes are not shown."}</Text>}
        <LoadMore query={list} />
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

type LargerProps = Pick<TakesProps, "view"> & {
  take: Prediction;
  isMarked: boolean;
  mark: (take: Prediction | null) => void;
};

const LargerButtons = ({ take, view, isMarked, mark }: LargerProps) => (
  <>
    <SmallButton size="compact-sm" Icon={IconMaximize} onClick={() => view.enlarge(take)}>
      Enlarge
    </SmallButton>
    <SmallButton
      size="compact-sm"
      variant={isMarked ? "light" : "default"}
      aria-pressed={isMarked}
      Icon={IconColumns2}
      onClick={() => mark(isMarked ? null : take)}
    >
      Compare
    </SmallButton>
  </>
);

/** The problems of a take, in words. */
const stateWords = (take: Prediction): string[] =>
  [take.status !== "succeeded" && !isRunning(take) && statusWords(take), take.hidden && "Hidden"].filter(
    (words) => words !== false,
  );

/** The inputs in which the predictions differ, in words. Pictures are shown, not described. */
function useDifferences(all: Prediction[]): (prediction: Prediction) => string[] {
  const labelOf = useModelLabel();
  const wordsOf = (one: Prediction) =>
    factsOf(one, labelOf)
      .filter(({ frames }) => frames === undefined)
      .map(({ name, words }) => (name === "Seed" ? `seed ${words}` : words));
  const lists = all.map(wordsOf);
  const common = (lists[0] ?? []).filter((words) => lists.every((list) => list.includes(words)));
  return (prediction) => wordsOf(prediction).filter((words) => !common.includes(words));
}

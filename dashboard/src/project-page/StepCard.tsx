import { ActionIcon, Alert, Code, Group, Stack, Text, Title, Tooltip } from "@mantine/core";
import { useDidUpdate } from "@mantine/hooks";
import { type ReactNode, useEffect, useRef } from "react";
import type { Model, Prediction, ProjectWithPredictions, Step } from "../../../client/index.ts";
import { knownOf, usedIn } from "../prompts/mentions.ts";
import { textProblem } from "../ui/errors.ts";
import { type Icon, IconAlertTriangle, IconDownload, IconMaximize, IconRestore } from "../ui/icons.tsx";
import { useCast } from "../queries/element-queries.ts";
import { isRunning, useCancel } from "../queries/project-queries.ts";
import { failureTitle, isEarlier, nounOf, remedyFor, STEP_NAME } from "../takes/status-words.ts";
import { PredictionState } from "../takes/status.tsx";
import { MadeFrom } from "../takes/Sources.tsx";
import { StepActions, useStartStep } from "./StepActions.tsx";
import { StepScreen } from "../takes/StepScreen.tsx";
import { StepSettings } from "../step-settings/StepSettings.tsx";
import { Takes } from "../takes/Takes.tsx";
import { givenOf, modelOf, type StepOptions } from "../step-settings/step-options.ts";
import classes from "../takes/strip.module.css";
import { useDownload } from "../takes/use-download.ts";
import type { Take } from "../queries/use-predictions.ts";
import type { TextsState } from "./use-texts.ts";
import { costSentence } from "../takes/cost-words.ts";
import { ErrorNotice } from "../ui/notices.tsx";

type Props = {
  project: ProjectWithPredictions;
  step: Step;
  take: Take;
  texts: TextsState;
  models: Model[] | undefined;
  options: StepOptions;
  /** Whether the service knows these settings. */
  isPlanSaved: boolean;
  onOptions: (changed: StepOptions) => void;
  poster?: string | undefined;
  notYet?: string | null;
  isNext: boolean;
  /** For this step only. */
  children?: ReactNode;
  /** The one that a phone shows after a reload. */
  isLookedAt: boolean;
  onLook: () => void;
  onTakes: () => void;
  onUse: (prediction: Prediction) => void;
  onEnlarge: (prediction: Prediction) => void;
  onReuse: (prediction: Prediction) => void;
};

export function StepCard({ project, step, take, texts, models, options, ...props }: Props) {
  const { projectId, title, predictions } = project;
  const latest = predictions[step];
  const shown = take.prediction;
  const starting = useStartStep(projectId, step, latest, texts);
  const cancel = useCancel();
  const isCanceling = cancel.isPending && isRunning(latest);
  const model = modelOf(models, options);
  const given = givenOf(project, step, options);
  const prompt = options.prompt ?? texts.texts.textPrompt;
  useDidUpdate(() => void starting.forgive(), [prompt]);
  const cast = useCast(project);
  const used = options.elements ?? usedIn(prompt, cast);
  const card = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it appears
  useEffect(() => {
    if (props.isLookedAt) card.current?.scrollIntoView();
  }, []);
  return (
    <article
      ref={card}
      className={classes.step}
      data-step={step}
      aria-labelledby={`step-${step}`}
      onFocus={props.onLook}
    >
      <div className={classes.film}>
        <StepScreen
          step={step}
          latest={latest}
          shown={shown}
          isSelected={take.isSelected}
          prompt={shown?.input.prompt ?? ""}
          poster={props.poster}
        />
      </div>
      <Stack gap="xs" className={classes.body}>
        <Group justify="space-between" wrap="nowrap" mih={34}>
          <Title order={2} size="h4" id={`step-${step}`}>
            {STEP_NAME[step]}
          </Title>
          <StepTools step={step} shown={shown} title={title} {...props} />
        </Group>
        <PredictionState prediction={latest} take={shown} isCanceling={isCanceling} />
        <StepActions
          project={project}
          step={step}
          options={options}
          latest={latest}
          isNext={props.isNext}
          notYet={props.notYet ?? null}
          canStart={canStart(options, model)}
          isUnsaved={texts.isDirty}
          isPlanSaved={props.isPlanSaved}
          prompt={texts.texts.textPrompt}
          starting={starting}
          cancel={cancel}
        />
        {knownOf(cast).length > 0 && (
          <Text size="sm" c="dimmed" lineClamp={2}>
            {used.length === 0 ? "Without elements" : `With ${used.map(({ name }) => name).join(", ")}`}
          </Text>
        )}
        <ErrorNotice
          title={starting.count > 1 ? `Could not start ${starting.count} takes` : "Could not start"}
          error={starting.error}
        />
        {latest?.error != null && <PredictionFailure prediction={latest} error={latest.error} />}
        <Takes project={project} step={step} onUse={props.onUse} onAll={props.onTakes} />
        {step !== "first-frame" && shown !== null && (
          <MadeFrom
            project={project}
            prediction={shown}
            label={isEarlier(latest, shown) ? `Shown ${nounOf(step)} made from` : "Made from"}
          />
        )}
        {props.children}
        <ErrorNotice title="Could not cancel" error={cancel.error} />
        <StepSettings
          options={options}
          onChange={(changed) => {
            starting.forgive();
            props.onOptions(changed);
          }}
          models={models}
          given={given}
          project={project}
          cast={cast}
        />
      </Stack>
    </article>
  );
}

const canStart = ({ prompt, negativePrompt }: StepOptions, model: Model | undefined) =>
  textProblem(prompt ?? "", model?.promptMaxLength) === null &&
  textProblem(negativePrompt ?? "", model?.controls.negativePrompt?.maxLength) === null;

type FailureProps = { prediction: Prediction; error: NonNullable<Prediction["error"]> };

function PredictionFailure({ prediction, error }: FailureProps) {
  const remedy = remedyFor(error);
  const title = failureTitle(error);
  return (
    <Alert color="red" p="sm" icon={<IconAlertTriangle size={18} />} title={title ?? error.message}>
      {title !== null && <Text size="sm">{error.message}</Text>}
      {remedy !== null && <Text size="sm">{remedy}</Text>}
      <Text size="sm">{costSentence(prediction)}</Text>
      <Text size="xs" mt={4}>
        <Code>{error.code}</Code>
      </Text>
    </Alert>
  );
}

type StepToolsProps = Pick<Props, "step" | "onEnlarge" | "onReuse"> & {
  shown: Prediction | null;
  title: string;
};

function StepTools({ step, shown, title, ...props }: StepToolsProps) {
  const download = useDownload(title);
  const name = STEP_NAME[step].toLowerCase();
  const tool = (label: string, Mark: Icon, onClick: () => void, opens?: "dialog") => (
    <Tooltip label={label}>
      <ActionIcon variant="default" size="lg" aria-label={label} aria-haspopup={opens} onClick={onClick}>
        <Mark size={18} />
      </ActionIcon>
    </Tooltip>
  );
  return (
    <ActionIcon.Group>
      {shown !== null && (
        <>
          {tool(`Enlarge the ${name}`, IconMaximize, () => props.onEnlarge(shown), "dialog")}
          {tool(`Use the inputs of the ${name}`, IconRestore, () => props.onReuse(shown))}
          {tool(`Download the ${name}`, IconDownload, () => download(shown))}
        </>
      )}
    </ActionIcon.Group>
  );
}

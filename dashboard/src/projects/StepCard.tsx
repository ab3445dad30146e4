import { ActionIcon, Alert, Code, Group, Stack, Text, Title, Tooltip } from "@mantine/core";
import { useDidUpdate } from "@mantine/hooks";
import { type ReactNode, useEffect, useRef } from "react";
import type { Prediction } from "../../../client/index.ts";
import { type Cast, knownOf, usedIn } from "../prompts/mentions.ts";
import { useCast } from "../queries/element-queries.ts";
import { isRunning, useCancel } from "../queries/project-queries.ts";
import type { StepSetup } from "../step-settings/step-setup.ts";
import { StepSettings } from "../step-settings/StepSettings.tsx";
import { costSentence } from "../takes/cost-words.ts";
import { MadeFrom } from "../takes/Sources.tsx";
import { PredictionState } from "../takes/Status.tsx";
import { failureTitle, isEarlier, nounOf, remedyFor, STEP_NAME } from "../takes/status-words.ts";
import { StepScreen } from "../takes/StepScreen.tsx";
import classes from "../takes/strip.module.css";
import { Takes } from "../takes/Takes.tsx";
import { useDownload } from "../takes/use-download.ts";
import { type Icon, IconAlertTriangle, IconDownload, IconMaximize, IconRestore } from "../ui/Icons.tsx";
import { ErrorNotice } from "../ui/Notices.tsx";
import { StepActions } from "./StepActions.tsx";
import type { StripState } from "./use-strip.ts";
import { useStartStep } from "./use-start.ts";

type Props = {
  strip: StripState;
  setup: StepSetup;
  isNext: boolean;
  notYet?: string | null;
  poster?: string | undefined;
  /** Content that only this step has. */
  children?: ReactNode;
};

export function StepCard({ strip, setup, isNext, notYet = null, poster, children }: Props) {
  const { project, texts, plan, view } = strip;
  const { step, options } = setup;
  const latest = project.predictions[step];
  const shown = project.takes[step];
  const cast = useCast(project);
  const starting = useStartStep(project, step, texts);
  const cancel = useCancel();
  const prompt = options.prompt ?? texts.texts.textPrompt;
  useDidUpdate(() => void starting.clearError(), [prompt]);
  const card = useRef<HTMLElement>(null);
  // After a reload, a phone scrolls to the card that was used.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it appears
  useEffect(() => {
    if (!strip.isWide && view.step === step) card.current?.scrollIntoView();
  }, []);
  return (
    <article
      ref={card}
      className={classes.step}
      data-step={step}
      aria-labelledby={`step-${step}`}
      onFocus={() => view.step !== step && view.show({ step })}
    >
      <div className={classes.film}>
        <StepScreen
          step={step}
          latest={latest}
          shown={shown}
          isSelected={project.selected[step] !== null}
          prompt={shown?.input.prompt ?? ""}
          poster={poster}
        />
      </div>
      <Stack gap="xs" className={classes.body}>
        <Group justify="space-between" wrap="nowrap" mih={34}>
          <Title order={2} size="h4" id={`step-${step}`}>
            {STEP_NAME[step]}
          </Title>
          {shown !== null && <StepTools strip={strip} shown={shown} />}
        </Group>
        <PredictionState prediction={latest} take={shown} isCanceling={cancel.isPending && isRunning(latest)} />
        <StepActions {...{ strip, setup, isNext, notYet, starting, cancel }} />
        <UsedElements used={options.elements ?? usedIn(prompt, cast)} cast={cast} />
        <ErrorNotice
          title={starting.count > 1 ? `Could not start ${starting.count} takes` : "Could not start"}
          error={starting.error}
        />
        {latest !== null && <PredictionFailure prediction={latest} />}
        <Takes {...strip} step={step} />
        {step !== "first-frame" && shown !== null && (
          <MadeFrom
            project={project}
            prediction={shown}
            label={isEarlier(latest, shown) ? `The ${nounOf(step)} shown was made from` : "Made from"}
          />
        )}
        {children}
        <ErrorNotice title="Could not cancel" error={cancel.error} />
        <StepSettings
          setup={setup}
          project={project}
          cast={cast}
          onChange={(changed) => {
            starting.clearError();
            plan.set(step, changed);
          }}
        />
      </Stack>
    </article>
  );
}

/** Renders nothing without a cast. */
function UsedElements({ used, cast }: { used: { name: string }[]; cast: Cast<{ name: string }> }) {
  if (knownOf(cast).length === 0) return null;
  return (
    <Text size="sm" c="dimmed" lineClamp={2}>
      {used.length === 0 ? "Without elements" : `With ${used.map(({ name }) => name).join(", ")}`}
    </Text>
  );
}

/** Why a prediction failed, and what to do. Renders nothing without an error. */
function PredictionFailure({ prediction }: { prediction: Prediction }) {
  const { error } = prediction;
  if (error === null) return null;
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

function StepTools({ strip: { project, view, onReuse }, shown }: { strip: StripState; shown: Prediction }) {
  const download = useDownload(project.title);
  const name = STEP_NAME[shown.step].toLowerCase();
  const tool = (label: string, Mark: Icon, onClick: () => void, opens?: "dialog") => (
    <Tooltip label={label}>
      <ActionIcon variant="default" size="lg" aria-label={label} aria-haspopup={opens} onClick={onClick}>
        <Mark size={18} />
      </ActionIcon>
    </Tooltip>
  );
  return (
    <ActionIcon.Group>
      {tool(`Enlarge the ${name}`, IconMaximize, () => view.enlarge(shown), "dialog")}
      {tool(`Use the inputs of the ${name}`, IconRestore, () => onReuse(shown))}
      {tool(`Download the ${name}`, IconDownload, () => download(shown))}
    </ActionIcon.Group>
  );
}

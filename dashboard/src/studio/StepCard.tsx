import { Group, Stack, Title } from "@mantine/core";
import { type ReactNode, useState } from "react";
import type { Prediction, ProjectWithPredictions, Step } from "../../../client/index.ts";
import { isRunning } from "../projects/is-running.ts";
import { STEP_NAME } from "../projects/step-words.ts";
import { ErrorNotice } from "../ui/ErrorNotice.tsx";
import { RunFailure } from "./RunFailure.tsx";
import { RunState } from "./RunState.tsx";
import type { Model } from "./read-models.ts";
import { StepActions } from "./StepActions.tsx";
import { StepScreen } from "./StepScreen.tsx";
import { StepSettings } from "./StepSettings.tsx";
import { StepTools } from "./StepTools.tsx";
import type { Choices } from "./start-run.ts";
import { isTooLong, NO_OPTIONS, type StepOptions } from "./step-options.ts";
import classes from "./strip.module.css";
import { useCancelRun } from "./use-cancel-run.ts";
import { useStartRun } from "./use-start-run.ts";

type Props = {
  project: ProjectWithPredictions;
  step: Step;
  /** What there is to see: the latest run that succeeded. */
  shown: Prediction | null;
  model: Model | undefined;
  reference: string | null;
  poster?: string | undefined;
  notYet?: string | null;
  frames?: Pick<Choices, "firstFramePredictionId" | "lastFramePredictionId">;
  /** What this step can be told besides what all can. */
  children?: (options: StepOptions, setOptions: (options: StepOptions) => void) => ReactNode;
  onHistory: (step: Step) => void;
};

/** One step: what it made, how its latest run stands, and what can be done about it. */
export function StepCard({ project, step, shown, model, reference, poster, notYet = null, frames, ...props }: Props) {
  const { projectId, title, textPrompt, predictions } = project;
  const latest = predictions[step];
  const [options, setOptions] = useState(NO_OPTIONS);
  const { start, isStarting, error } = useStartRun(projectId, step);
  const cancel = useCancelRun(projectId);
  const isCanceling = cancel.isPending && isRunning(latest);
  const usesReference = options.usesReference && model?.maxReferences !== 0;
  const run = () =>
    start({
      prompt: options.prompt.trim() === "" ? undefined : options.prompt,
      referenceImagePath: usesReference ? (reference ?? undefined) : undefined,
      durationSeconds: options.durationSeconds ?? undefined,
      ...frames,
    });
  return (
    <article className={classes.step} data-step={step} aria-labelledby={`step-${step}`}>
      <div className={classes.film}>
        <StepScreen step={step} latest={latest} shown={shown} prompt={textPrompt} poster={poster} />
      </div>
      <Stack gap="xs" className={classes.body}>
        <Group justify="space-between" wrap="nowrap" mih={34}>
          <Title order={2} size="h4" id={`step-${step}`}>
            {STEP_NAME[step]}
          </Title>
          <StepTools
            step={step}
            shown={shown}
            title={title}
            hasRuns={latest !== null}
            onHistory={() => props.onHistory(step)}
          />
        </Group>
        <RunState run={latest} isCanceling={isCanceling} />
        {latest?.error != null && <RunFailure error={latest.error} />}
        {props.children?.(options, setOptions)}
        <StepActions
          step={step}
          latest={latest}
          notYet={notYet}
          canStart={!isTooLong(options)}
          isStarting={isStarting}
          isCanceling={isCanceling}
          onStart={run}
          onCancel={cancel.mutate}
        />
        {error !== null && <ErrorNotice title="It was not started" error={error} />}
        {cancel.error !== null && <ErrorNotice title="It was not canceled" error={cancel.error} />}
        <StepSettings
          options={options}
          onChange={setOptions}
          hasReference={reference !== null}
          model={model}
          isVideo={step === "video"}
        />
      </Stack>
    </article>
  );
}

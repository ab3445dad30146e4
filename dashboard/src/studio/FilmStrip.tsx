import { CloseButton, Group, SegmentedControl, Text } from "@mantine/core";
import { useId } from "@mantine/hooks";
import { lazy, Suspense, useState } from "react";
import type { Prediction, ProjectWithPredictions, Step } from "../../../client/index.ts";
import { isRunning } from "../projects/prediction-cache.ts";
import { Time } from "../ui/Time.tsx";
import type { ChosenFrames, FrameStep } from "./HistoryDrawer.tsx";
import { StepCard } from "./StepCard.tsx";
import classes from "./strip.module.css";
import { useModels } from "./use-models.ts";
import { type LatestSuccess, useLatestSuccess } from "./use-predictions.ts";

const HistoryDrawer = lazy(() => import("./HistoryDrawer.tsx"));

type Props = { project: ProjectWithPredictions; reference: string | null };

export function FilmStrip({ project, reference }: Props) {
  const models = useModels();
  const first = useLatestSuccess(project, "first-frame");
  const video = useLatestSuccess(project, "video");
  const last = useLatestSuccess(project, "last-frame");
  const [frames, setFrames] = useState<ChosenFrames>({});
  // Keeps its step while the drawer slides out.
  const [{ step: historyOf, isOpen }, setHistory] = useState<{ step: Step | null; isOpen: boolean }>(CLOSED);
  const shared = { project, reference, onHistory: (step: Step) => setHistory({ step, isOpen: true }) };
  return (
    <section className={classes.strip} aria-label="Steps">
      <StepCard {...shared} step="first-frame" shown={first.prediction} model={models["first-frame"]} />
      <StepCard
        {...shared}
        step="video"
        shown={video.prediction}
        model={models.video}
        poster={posterOf(video.prediction, first.prediction)}
        notYet={whyNotYet(project.predictions["first-frame"], first)}
        frames={{
          firstFramePredictionId: frames["first-frame"]?.predictionId,
          lastFramePredictionId: frames["last-frame"]?.predictionId,
        }}
      >
        {(options, setOptions) => (
          <>
            <FramesOfVideo
              frames={frames}
              hasLast={last.prediction !== null}
              onLatest={(step) => setFrames(({ [step]: _dropped, ...others }) => others)}
            />
            <DurationChoice
              durations={models.video?.durations ?? []}
              value={options.durationSeconds}
              onChange={(durationSeconds) => setOptions({ ...options, durationSeconds })}
            />
          </>
        )}
      </StepCard>
      <StepCard {...shared} step="last-frame" shown={last.prediction} model={models["last-frame"]} />
      {historyOf !== null && (
        <Suspense>
          <HistoryDrawer
            project={project}
            step={historyOf}
            isOpen={isOpen}
            onClose={() => setHistory({ step: historyOf, isOpen: false })}
            chosen={frames}
            onChoose={(step, prediction) => setFrames({ ...frames, [step]: prediction })}
          />
        </Suspense>
      )}
    </section>
  );
}

const CLOSED = { step: null, isOpen: false };

/** The first frame as poster, unless it is newer than the video. */
function posterOf(video: Prediction | null, first: Prediction | null): string | undefined {
  const isOlder = video !== null && first?.completedAt != null && first.completedAt <= video.createdAt;
  return isOlder ? first.output?.url : undefined;
}

type FramesOfVideoProps = { frames: ChosenFrames; hasLast: boolean; onLatest: (step: FrameStep) => void };

function FramesOfVideo({ frames, hasLast, onLatest }: FramesOfVideoProps) {
  const first = frames["first-frame"];
  const last = frames["last-frame"];
  return (
    <Text size="sm" c="dimmed" component="div">
      {first === undefined && last === undefined
        ? hasLast
          ? "Uses the latest first and last frames."
          : "Uses the latest first frame. Add a last frame to set how it ends."
        : (["first-frame", "last-frame"] as const).map((step) => {
            const frame = frames[step];
            const name = step === "first-frame" ? "first frame" : "last frame";
            if (frame === undefined) return null;
            return (
              <Group key={step} gap={4} wrap="nowrap">
                <span>
                  Uses an earlier {name}: <Time iso={frame.createdAt} />
                </span>
                <CloseButton size="sm" aria-label={`Use the latest ${name}`} onClick={() => onLatest(step)} />
              </Group>
            );
          })}
    </Text>
  );
}

type DurationChoiceProps = { durations: number[]; value: number | null; onChange: (seconds: number) => void };

/** The model's durations, its default first. The height is reserved while they load. */
function DurationChoice({ durations, value, onChange }: DurationChoiceProps) {
  const label = useId();
  const sorted = durations.toSorted((one, other) => one - other);
  const chosen = value !== null && durations.includes(value) ? value : durations[0];
  return (
    <Group gap="sm" mih={34} wrap="nowrap">
      {chosen !== undefined && (
        <>
          <Text size="sm" id={label}>
            Length
          </Text>
          <SegmentedControl
            size="sm"
            aria-labelledby={label}
            data={sorted.map((seconds) => ({ value: String(seconds), label: `${seconds} s` }))}
            value={String(chosen)}
            onChange={(seconds) => onChange(Number(seconds))}
          />
        </>
      )}
    </Group>
  );
}

/** Why the video cannot start yet. Null when it can or when unknown: then the service decides. */
function whyNotYet(firstFrame: Prediction | null, { isNone }: LatestSuccess): string | null {
  if (!isNone) return null;
  return isRunning(firstFrame) ? "Waiting for the first frame." : "Generate the first frame first.";
}

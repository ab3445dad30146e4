import { lazy, Suspense, useState } from "react";
import type { Prediction, ProjectWithPredictions, Step } from "../../../client/index.ts";
import type { ChosenFrames } from "./chosen-frames.ts";
import { DurationChoice } from "./DurationChoice.tsx";
import { FramesOfVideo } from "./FramesOfVideo.tsx";
import { whyNotYet } from "./readiness.ts";
import { StepCard } from "./StepCard.tsx";
import classes from "./strip.module.css";
import { useLatestSuccess } from "./use-latest-success.ts";
import { useModels } from "./use-models.ts";

const HistoryDrawer = lazy(() => import("./HistoryDrawer.tsx"));

type Props = { project: ProjectWithPredictions; reference: string | null };

/** The three steps side by side, in the order of the film. */
export function FilmStrip({ project, reference }: Props) {
  const models = useModels();
  const first = useLatestSuccess(project, "first-frame");
  const video = useLatestSuccess(project, "video");
  const last = useLatestSuccess(project, "last-frame");
  const [frames, setFrames] = useState<ChosenFrames>({});
  // The step whose history is shown stays while the drawer slides out.
  const [{ step: historyOf, isOpen }, setHistory] = useState<{ step: Step | null; isOpen: boolean }>(CLOSED);
  const shared = { project, reference, onHistory: (step: Step) => setHistory({ step, isOpen: true }) };
  return (
    <section className={classes.strip} aria-label="Steps">
      <StepCard {...shared} step="first-frame" shown={first.run} model={models["first-frame"]} />
      <StepCard
        {...shared}
        step="video"
        shown={video.run}
        model={models.video}
        poster={posterOf(video.run, first.run)}
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
              hasLast={last.run !== null}
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
      <StepCard {...shared} step="last-frame" shown={last.run} model={models["last-frame"]} />
      {historyOf !== null && (
        <Suspense>
          <HistoryDrawer
            project={project}
            step={historyOf}
            isOpen={isOpen}
            onClose={() => setHistory({ step: historyOf, isOpen: false })}
            chosen={frames}
            onChoose={(step, run) => setFrames({ ...frames, [step]: run })}
          />
        </Suspense>
      )}
    </section>
  );
}

const CLOSED = { step: null, isOpen: false };

/** The frame that a video started from; one that was made after it is another. */
function posterOf(video: Prediction | null, first: Prediction | null): string | undefined {
  const isOlder = video !== null && first?.completedAt != null && first.completedAt <= video.createdAt;
  return isOlder ? first.output?.url : undefined;
}

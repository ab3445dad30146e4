import { lazy, Suspense, useState } from "react";
import type { Prediction, ProjectWithPredictions, Step } from "../../../client/index.ts";
import { useFrameBefore } from "../films/film-queries.ts";
import { isRunning, selectionOf } from "../projects/prediction-cache.ts";
import { useChangeProject } from "../projects/project-queries.ts";
import { nounOf, STEP_NAME } from "../projects/status-words.ts";
import { useDraft } from "../session/use-draft.ts";
import { ErrorNotice, notify } from "../ui/messages.tsx";
import { Sources } from "./Sources.tsx";
import { StepCard } from "./StepCard.tsx";
import { modelOf, NO_OPTIONS, optionsOf, type StepOptions, takesLastFrame } from "./step-options.ts";
import classes from "./strip.module.css";
import { useModels } from "./use-models.ts";
import { type Take, usePrediction, useTake } from "./use-predictions.ts";
import type { TextsState } from "./texts/use-texts.ts";

const HistoryDrawer = lazy(() => import("./HistoryDrawer.tsx"));

type Props = { project: ProjectWithPredictions; texts: TextsState };

export function FilmStrip({ project, texts }: Props) {
  const models = useModels();
  const takes = {
    "first-frame": useTake(project, "first-frame"),
    video: useTake(project, "video"),
    "last-frame": useTake(project, "last-frame"),
  };
  const { "first-frame": first, video, "last-frame": last } = takes;
  const before = useFrameBefore(project);
  // A shot without a first frame of its own starts on the last frame of the one before.
  const startsOn = first.isNone ? (before ?? null) : null;
  const poster = usePrediction(project, "first-frame", video.prediction?.input.firstFramePredictionId ?? null);
  const [options, setOptions] = useDraft(`settings ${project.projectId}`, NO_SETTINGS);
  const select = useChangeProject(project.projectId);
  // Keeps its step while the drawer slides out.
  const [{ step: historyOf, isOpen }, setHistory] = useState<{ step: Step | null; isOpen: boolean }>(CLOSED);
  const closeHistory = () => setHistory({ step: historyOf, isOpen: false });
  const optionsFor = (step: Step): StepOptions => ({ ...NO_OPTIONS, ...options[step] });
  const card = (step: Step) => ({
    project,
    texts,
    step,
    take: takes[step],
    models: models[step],
    options: optionsFor(step),
    onOptions: (next: StepOptions) => setOptions({ ...options, [step]: next }),
    startsOn: step === "first-frame" ? null : startsOn,
    onHistory: () => setHistory({ step, isOpen: true }),
    onUseLatest: () => select.mutate({ change: { selected: { [step]: null } } }),
  });
  /** Sets what a prediction was made with for the next one of its step. */
  const reuse = (prediction: Prediction) => {
    const { step, input } = prediction;
    const frames = {
      ...selectionOf(project, "first-frame", input.firstFramePredictionId),
      ...selectionOf(project, "last-frame", input.lastFramePredictionId),
    };
    const { aspectRatio } = input;
    const change = { ...(aspectRatio === null ? {} : { aspectRatio }), selected: frames };
    const selected = FRAMES.filter((frame) => frames[frame] != null).map((frame) => STEP_NAME[frame].toLowerCase());
    select.mutate(
      { change },
      {
        onSuccess: () => {
          setOptions({ ...options, [step]: optionsOf(prediction, models[step], texts.texts.textPrompt) });
          closeHistory();
          notify(
            selected.length > 0
              ? `The inputs are set, with the ${selected.join(" and the ")} of that ${nounOf(step)}.`
              : "The inputs are set. Generate when you are ready.",
          );
        },
      },
    );
  };
  const endsAtLast = takesLastFrame(modelOf(models.video, optionsFor("video")), optionsFor("video"));
  return (
    <>
      <section className={classes.strip} aria-label="Steps">
        <StepCard {...card("first-frame")} />
        <StepCard
          {...card("video")}
          poster={poster?.output?.url}
          notYet={startsOn === null ? whyNotYet(project.predictions["first-frame"], first) : null}
        >
          {(first.prediction ?? startsOn) !== null && (
            <Sources
              label="Next video from"
              sources={[
                startsOn === null
                  ? sourceOf("first frame", first)
                  : { alt: "Last frame of the shot before", prediction: startsOn },
                ...(endsAtLast ? [sourceOf("last frame", last)] : []),
              ]}
              more={last.prediction === null ? "Add a last frame to set how it ends." : undefined}
            />
          )}
        </StepCard>
        <StepCard {...card("last-frame")} />
      </section>
      {select.error !== null && !isOpen && <ErrorNotice title="Could not change the project" error={select.error} />}
      {historyOf !== null && (
        <Suspense>
          <HistoryDrawer
            project={project}
            step={historyOf}
            isOpen={isOpen}
            onClose={closeHistory}
            onReuse={reuse}
            select={select}
          />
        </Suspense>
      )}
    </>
  );
}

const FRAMES = ["first-frame", "last-frame"] as const;

const NO_SETTINGS: Partial<Record<Step, StepOptions>> = {};

const CLOSED = { step: null, isOpen: false };

const sourceOf = (name: string, { prediction, isSelected }: Take) => ({
  alt: `${isSelected ? "Selected" : "Latest"} ${name}`,
  prediction,
});

/** Why the video cannot start yet. Null when it can or when unknown: then the service decides. */
function whyNotYet(firstFrame: Prediction | null, { isNone }: Take): string | null {
  if (!isNone) return null;
  return isRunning(firstFrame) ? "Waiting for the first frame." : "Generate the first frame first.";
}

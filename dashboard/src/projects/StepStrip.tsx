import { lazy, Suspense } from "react";
import type { ProjectWithPredictions, Step } from "../../../client/index.ts";
import { projectNoun } from "../queries/project-queries.ts";
import { useReferenceAddress } from "../queries/reference-image.ts";
import { useModels } from "../queries/use-models.ts";
import { usePrediction } from "../queries/use-predictions.ts";
import { setupOf } from "../step-settings/step-setup.ts";
import { Sources } from "../takes/Sources.tsx";
import { PLAYING_ORDER } from "../takes/status-words.ts";
import classes from "../takes/strip.module.css";
import { ErrorNotice } from "../ui/Notices.tsx";
import { useLast } from "../ui/dialog-focus.ts";
import { StepCard } from "./StepCard.tsx";
import { isMadeFrom, useNextVideo } from "./use-next-video.ts";
import { type StripState, useStrip } from "./use-strip.ts";
import type { TextsState } from "./use-texts.ts";

const TakeDialogs = lazy(() => import("../takes/TakeDialogs.tsx"));

/** On a phone, the steps are one below the other, in this order. */
const MAKING_ORDER = ["first-frame", "last-frame", "video"] as const;

export function StepStrip({ project, texts }: { project: ProjectWithPredictions; texts: TextsState }) {
  const strip = useStrip(project, texts);
  const { plan, view, selection, onReuse, isWide } = strip;
  const models = useModels();
  const video = useNextVideo(project, plan.optionsOf("video"));
  const next = nextStep(project, video.needsFrame);
  // A video that continues the previous shot needs no first frame of its own.
  const isOffered = (step: Step) =>
    step !== "first-frame" || !video.continues || project.predictions["first-frame"] !== null;
  const steps = (isWide ? PLAYING_ORDER : MAKING_ORDER).filter(isOffered);
  const opened = view.listed ?? view.enlarged;
  const wasOpened = useLast(opened) !== null;
  return (
    <>
      <section className={classes.strip} aria-label="Steps">
        {steps.map((step) => {
          const isNext = step === next;
          if (step === "video") return <VideoCard key={step} strip={strip} video={video} isNext={isNext} />;
          const setup = setupOf(models[step], step, plan.optionsOf(step), project);
          return <StepCard key={step} strip={strip} setup={setup} isNext={isNext} />;
        })}
      </section>
      <ErrorNotice title="Could not save the settings" error={plan.error} />
      {opened === null && (
        <ErrorNotice title={`Could not change the ${projectNoun(project)}`} error={selection.change.error} />
      )}
      {wasOpened && (
        <Suspense>
          <TakeDialogs {...{ project, selection, view, onReuse }} />
        </Suspense>
      )}
    </>
  );
}

/** The step whose button stands out. Null when everything is made. */
function nextStep({ takes }: ProjectWithPredictions, needsFrame: boolean): Step | null {
  if (takes["first-frame"] === null && needsFrame) return "first-frame";
  return takes.video === null || takes.video.outdated ? "video" : null;
}

type VideoCardProps = { strip: StripState; video: ReturnType<typeof useNextVideo>; isNext: boolean };

function VideoCard({ strip, video: { setup, notYet, frames, hasEnd }, isNext }: VideoCardProps) {
  const { project } = strip;
  const shown = project.takes.video;
  const frame = usePrediction(project, shown?.input.firstFramePredictionId ?? null);
  const image = useReferenceAddress(shown?.input.firstFrameImagePath ?? null);
  const isSame = shown !== null && isMadeFrom(shown, frames);
  return (
    <StepCard
      strip={strip}
      setup={setup}
      isNext={isNext}
      notYet={notYet}
      poster={frame?.output?.url ?? image.data ?? undefined}
    >
      {frames[0]?.frame != null && (
        <Sources
          project={project}
          label={isSame ? "The next video starts from the same frame." : "Next video from"}
          frames={isSame ? [] : frames}
          more={hasEnd ? undefined : "Add a last frame to set how it ends."}
        />
      )}
    </StepCard>
  );
}

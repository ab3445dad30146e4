import type { Prediction, ProjectWithPredictions, Shot } from "../../../client/index.ts";
import { usePreviousShot } from "../queries/film-queries.ts";
import { isRunning } from "../queries/project-queries.ts";
import { useStoreEnds } from "../queries/reference-image.ts";
import { useModels } from "../queries/use-models.ts";
import type { StepOptions } from "../queries/plan-edits.ts";
import { setupOf, startOf } from "../step-settings/step-setup.ts";
import { type FrameRole, frameOf } from "../takes/input-words.ts";

/** How the next video would be made, where it starts and ends, and why it cannot start yet. */
export function useNextVideo(project: ProjectWithPredictions, planned: StepOptions) {
  const previous = usePreviousShot(project);
  const continues = planned.continuesPreviousShot === true && previous !== null; // the first shot starts at its own frame
  const setup = setupOf(useModels().video, "video", { ...planned, continuesPreviousShot: continues }, project);
  useStoreEnds(continues && previous ? [previous] : []);
  const start = startOf(setup, project.takes, previous);
  const end = frameOf(planned, "lastFrame") ?? project.takes["last-frame"]?.predictionId ?? null;
  const needsFrame = setup.usesFirstFrame && !continues && frameOf(planned, "firstFrame") === null;
  const nameOf = (role: FrameRole, step: "first-frame" | "last-frame") =>
    frameOf(planned, role) !== null ? "Chosen" : project.selected[step] !== null ? "Selected" : "Latest";
  return {
    setup,
    continues,
    /** Whether a first frame must be made for the video. */
    needsFrame,
    frames: [
      {
        alt: continues ? "End of the previous shot" : `${nameOf("firstFrame", "first-frame")} first frame`,
        frame: start,
      },
      { alt: `${nameOf("lastFrame", "last-frame")} last frame`, frame: setup.usesLastFrame ? end : null },
    ],
    hasEnd: end !== null,
    notYet: continues ? whyNotContinued(previous) : needsFrame ? whyNoFrame(project) : null,
  };
}

/** Why a video cannot continue the previous shot: that shot has no video, and none is being made. */
function whyNotContinued(previous: Shot | null | undefined): string | null {
  if (!previous) return ""; // the previous shot is being read
  const hasVideo = previous.takes.video !== null || isRunning(previous.predictions.video);
  return hasVideo ? null : "Generate the previous shot's video first.";
}

/** Null if there is a first frame, or if that is unknown: then the service decides. */
function whyNoFrame({ takes, selected, predictions }: ProjectWithPredictions): string | null {
  if (takes["first-frame"] !== null || selected["first-frame"] !== null) return null;
  return isRunning(predictions["first-frame"]) ? "Waiting for the first frame." : "Generate the first frame first.";
}

export const isMadeFrom = ({ input }: Prediction, frames: { frame: string | null }[]): boolean =>
  (["firstFrame", "lastFrame"] as const).every((role, at) => frameOf(input, role) === (frames[at]?.frame ?? null));

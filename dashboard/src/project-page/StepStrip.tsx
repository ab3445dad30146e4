import { useMediaQuery } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { useSearchParams } from "react-router";
import type { Prediction, ProjectWithPredictions, Shot, Step } from "../../../client/index.ts";
import { usePreviousShot } from "../queries/film-queries.ts";
import { projectNoun, selectionOf, useChangeProject, isRunning } from "../queries/project-queries.ts";
import { PLAYING_ORDER, nounOf, STEP_NAME } from "../takes/status-words.ts";
import { useServices } from "../services.ts";
import { useReferenceAddress, useStoreEnds } from "../queries/reference-image.ts";
import type { Look } from "../takes/AboutTake.tsx";
import { Sources } from "../takes/Sources.tsx";
import { StepCard } from "./StepCard.tsx";
import {
  modelOf,
  fieldsOf,
  optionsOf,
  type StepOptions,
  usesFirstFrame,
  usesLastFrame,
} from "../step-settings/step-options.ts";
import { frameOf, isUpload } from "../takes/input-words.ts";
import classes from "../takes/strip.module.css";
import { useModelLabel, useModels } from "../queries/use-models.ts";
import { predictionKey, predictionQuery, type Take, takeOf, usePrediction } from "../queries/use-predictions.ts";
import type { TextsState } from "./use-texts.ts";
import { usePlan } from "../step-settings/use-plan.ts";
import { ErrorNotice, notify } from "../ui/notices.tsx";
import { useLast } from "../ui/window-focus.ts";

const TakeWindows = lazy(() => import("../takes/TakeWindows.tsx"));

export function StepStrip({ project, texts }: { project: ProjectWithPredictions; texts: TextsState }) {
  const models = useModels();
  const labelOf = useModelLabel();
  const takes = {
    "first-frame": takeOf(project, "first-frame"),
    video: takeOf(project, "video"),
    "last-frame": takeOf(project, "last-frame"),
  };
  const { "first-frame": first, video, "last-frame": last } = takes;
  const previousShot = usePreviousShot(project);
  const posterFrame = usePrediction(project, video.prediction?.input.firstFramePredictionId ?? null);
  const posterImage = useReferenceAddress(video.prediction?.input.firstFrameImagePath ?? null);
  const services = useServices();
  const queries = useQueryClient();
  const plan = usePlan(project);
  const isFirstShot = previousShot === null;
  const select = useChangeProject(project.projectId);
  const [address, setAddress] = useSearchParams();
  /** The open view is in the address, for a reload and a second tab. */
  const look: Look = (at) => {
    const others = Object.fromEntries(address);
    const given = Object.entries({ ...others, ...at }).filter((entry): entry is [string, string] => entry[1] !== null);
    setAddress(given, { replace: true });
  };
  const [listed, enlarged] = [address.get("takes"), address.get("take")];
  const wasOpened = useLast(listed ?? enlarged) !== null;
  const enlarge = (...shown: Prediction[]) => {
    for (const take of shown) queries.setQueryData(predictionKey(take.predictionId), take); // without another read
    look({ take: shown.map(({ predictionId }) => predictionId).join() });
  };
  const planned = plan.optionsOf("video");
  const continues = planned.continuesPreviousShot === true && !isFirstShot; // else it begins at its own frame
  const forVideo = { ...planned, continuesPreviousShot: continues };
  const ofVideo = { firstFrame: frameOf(planned, "firstFrame"), lastFrame: frameOf(planned, "lastFrame") };
  useStoreEnds(continues && previousShot ? [previousShot] : []);
  const startsAtFirst = usesFirstFrame(modelOf(models.video, forVideo), forVideo);
  const next = nextStep(project, startsAtFirst && !continues && ofVideo.firstFrame === null);
  const isWide = useMediaQuery("(min-width: 62em)", undefined, { getInitialValueInEffect: false });
  const card = (step: Step) => ({
    project,
    texts: { ...texts, save: () => texts.save().then(plan.save) },
    isPlanSaved: plan.isSaved,
    step,
    take: takes[step],
    models: models[step],
    options: step === "video" ? forVideo : plan.optionsOf(step),
    onOptions: (changed: StepOptions) => plan.set(step, changed),
    isNext: step === next,
    isLookedAt: !isWide && address.get("step") === step,
    onLook: () => address.get("step") !== step && look({ step }),
    onTakes: () => look({ step, takes: step }),
    onEnlarge: enlarge,
    onReuse,
    onUse: (prediction: Prediction) => select.mutate({ change: { selected: selectionOf(project, prediction) } }),
  });
  /** Sets what a prediction was made with for the next one of its step. */
  const reuse = async (prediction: Prediction) => {
    const { step, input } = prediction;
    const selected: Partial<Record<Step, string | null>> = {};
    let ofStep: StepOptions = {};
    const named: string[] = [];
    const deleted: string[] = [];
    for (const [role, frameStep] of FRAMES) {
      const frame = frameOf(input, role);
      if (frame === null) continue;
      const name = STEP_NAME[frameStep].toLowerCase();
      // One that cannot be read now is named in the start: the service decides.
      const found = isUpload(frame)
        ? undefined
        : await queries.fetchQuery(predictionQuery(services, frame)).catch(() => undefined);
      if (found === null) {
        deleted.push(name);
        continue;
      }
      if (found?.projectId === project.projectId && found.step === frameStep) {
        const selection = selectionOf(project, found);
        Object.assign(selected, selection);
        if (selection[frameStep] === null) continue;
      } else {
        ofStep = { ...ofStep, ...fieldsOf(role, frame) };
      }
      named.push(name);
    }
    const {
      options: made,
      aspectRatio,
      leftOut,
    } = optionsOf(prediction, models[step], labelOf, texts.texts.textPrompt, ofStep);
    select.mutate(
      { change: { ...(aspectRatio === null ? {} : { aspectRatio }), selected } },
      {
        onSuccess: () => {
          plan.replace(step, () => made);
          look({ takes: null, take: null });
          notify(
            reusedWords(nounOf(step), named, [...deleted.map((name) => `its ${name}, which is deleted`), ...leftOut]),
          );
        },
      },
    );
  };
  /** A video that continues the previous shot needs no first frame of its own. */
  const isOffered = (step: Step) => step !== "first-frame" || !continues || project.predictions[step] !== null;
  const onReuse = (prediction: Prediction) => void reuse(prediction);
  const endsAtLast = usesLastFrame(modelOf(models.video, forVideo), forVideo);
  const firstSource = continues
    ? { alt: END_BEFORE, frame: previousShot?.takes.video?.endImagePath ?? null }
    : sourceOf("first frame", ofVideo.firstFrame, first);
  const lastSource = sourceOf("last frame", ofVideo.lastFrame, last);
  const nextFrom = endsAtLast ? [firstSource, lastSource] : [firstSource];
  const shownInput = video.prediction?.input;
  const isSame =
    shownInput !== undefined &&
    FRAMES.every(([role], at) => frameOf(shownInput, role) === (nextFrom[at]?.frame ?? null));
  return (
    <>
      <section className={classes.strip} aria-label="Steps">
        {(isWide ? PLAYING_ORDER : MAKING_ORDER).filter(isOffered).map((step) =>
          step === "video" ? (
            <StepCard
              key={step}
              {...card(step)}
              poster={posterFrame?.output?.url ?? posterImage.data ?? undefined}
              notYet={
                continues
                  ? whyNotContinued(previousShot)
                  : startsAtFirst && ofVideo.firstFrame === null
                    ? whyNotYet(project.predictions["first-frame"], first)
                    : null
              }
            >
              {startsAtFirst && firstSource.frame !== null && (
                <Sources
                  project={project}
                  label={isSame ? "The next video starts from the same frame." : "Next video from"}
                  sources={isSame ? [] : nextFrom}
                  more={lastSource.frame === null ? "Add a last frame to set how it ends." : undefined}
                />
              )}
            </StepCard>
          ) : (
            <StepCard key={step} {...card(step)} />
          ),
        )}
      </section>
      <ErrorNotice title="Could not save the settings" error={plan.error} />
      {select.error !== null && listed === null && enlarged === null && (
        <ErrorNotice title={`Could not change the ${projectNoun(project)}`} error={select.error} />
      )}
      {wasOpened && (
        <Suspense>
          <TakeWindows {...{ project, select, listed, enlarged, look }} onReuse={onReuse} onEnlarge={enlarge} />
        </Suspense>
      )}
    </>
  );
}

/** On a phone, one below the other. */
const MAKING_ORDER = ["first-frame", "last-frame", "video"] as const;

const FRAMES = [
  ["firstFrame", "first-frame"],
  ["lastFrame", "last-frame"],
] as const;

const sourceOf = (name: string, chosen: string | null, { prediction, isSelected }: Take) => ({
  alt: `${chosen !== null ? "Chosen" : isSelected ? "Selected" : "Latest"} ${name}`,
  frame: chosen ?? prediction?.predictionId ?? null,
});

function reusedWords(noun: string, named: string[], leftOut: string[]): string {
  if (leftOut.length > 0)
    return `The inputs of that ${noun} are set, except those that can no longer be used: ${leftOut.join(", ")}.`;
  return named.length > 0
    ? `The inputs are set, with the ${named.join(" and the ")} of that ${noun}.`
    : "The inputs are set. Generate when you are ready.";
}

/** The one action that stands out. Null when all is made. */
function nextStep({ takes }: ProjectWithPredictions, needsFrame: boolean): Step | null {
  if (takes["first-frame"] === null && needsFrame) return "first-frame";
  return takes.video === null || takes.video.outdated ? "video" : null;
}

const END_BEFORE = "End of the previous shot";

/** Why a video that continues the previous shot cannot start: without a video of that shot, and without one that is being made. */
function whyNotContinued(before: Shot | null | undefined): string | null {
  if (before === undefined) return "";
  if (before === null) return null;
  return before.takes.video === null && !isRunning(before.predictions.video)
    ? "Generate the previous shot's video first."
    : null;
}

/** Why the video cannot start yet. Null when it can or when unknown: then the service decides. */
function whyNotYet(firstFrame: Prediction | null, { isNone }: Take): string | null {
  if (!isNone) return null;
  return isRunning(firstFrame) ? "Waiting for the first frame." : "Generate the first frame first.";
}

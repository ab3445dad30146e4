import { Group, SegmentedControl, Text } from "@mantine/core";
import { useId } from "@mantine/hooks";
import { lazy, Suspense, useState } from "react";
import type { Prediction, ProjectWithPredictions, Step } from "../../../client/index.ts";
import { isRunning, selectionOf } from "../projects/prediction-cache.ts";
import { useChangeProject } from "../projects/project-queries.ts";
import { nounOf, STEP_NAME } from "../projects/status-words.ts";
import { useDraft } from "../session/use-draft.ts";
import { ErrorNotice, notify } from "../ui/messages.tsx";
import { Sources } from "./Sources.tsx";
import { StepCard } from "./StepCard.tsx";
import { NO_OPTIONS, type StepOptions } from "./StepSettings.tsx";
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
  const poster = usePrediction(project, "first-frame", video.prediction?.input.firstFramePredictionId ?? null);
  const [options, setOptions] = useDraft(`settings ${project.projectId}`, NO_SETTINGS);
  const select = useChangeProject(project.projectId);
  // Keeps its step while the drawer slides out.
  const [{ step: historyOf, isOpen }, setHistory] = useState<{ step: Step | null; isOpen: boolean }>(CLOSED);
  const closeHistory = () => setHistory({ step: historyOf, isOpen: false });
  const card = (step: Step) => ({
    project,
    texts,
    step,
    take: takes[step],
    model: models[step],
    options: options[step] ?? NO_OPTIONS,
    onOptions: (next: StepOptions) => setOptions({ ...options, [step]: next }),
    onHistory: () => setHistory({ step, isOpen: true }),
    onUseLatest: () => select.mutate({ change: { selected: { [step]: null } } }),
  });
  /** Sets what a prediction was made with for the next one of its step. */
  const reuse = ({ step, input }: Prediction) => {
    const { prompt, referenceImagePath, durationSeconds } = input;
    const frames = {
      ...selectionOf(project, "first-frame", input.firstFramePredictionId),
      ...selectionOf(project, "last-frame", input.lastFramePredictionId),
    };
    const change = { ...(referenceImagePath === null ? {} : { referenceImagePath }), selected: frames };
    const selected = FRAMES.filter((frame) => frames[frame] != null).map((frame) => STEP_NAME[frame].toLowerCase());
    select.mutate(
      { change },
      {
        onSuccess: () => {
          const isOfProject = prompt === texts.texts.textPrompt;
          const next = {
            prompt: isOfProject ? "" : prompt,
            usesReference: referenceImagePath !== null,
            durationSeconds,
          };
          setOptions({ ...options, [step]: next });
          closeHistory();
          const isLastAdded = step === "video" && input.lastFramePredictionId === null && last.prediction !== null;
          notify(
            isLastAdded
              ? "The inputs are set. The next video also ends at the last frame, which cannot be left out."
              : selected.length > 0
                ? `The inputs are set, with the ${selected.join(" and the ")} of that ${nounOf(step)}.`
                : "The inputs are set. Generate when you are ready.",
          );
        },
      },
    );
  };
  return (
    <>
      <section className={classes.strip} aria-label="Steps">
        <StepCard {...card("first-frame")} />
        <StepCard
          {...card("video")}
          poster={poster?.output?.url}
          notYet={whyNotYet(project.predictions["first-frame"], first)}
        >
          {(chosen, setChosen) => (
            <>
              {first.prediction !== null && (
                <Sources
                  label="Next video from"
                  sources={[sourceOf("first frame", first), sourceOf("last frame", last)]}
                  more={last.prediction === null ? "Add a last frame to set how it ends." : undefined}
                />
              )}
              <DurationChoice
                durations={models.video?.durations ?? []}
                value={chosen.durationSeconds}
                onChange={(durationSeconds) => setChosen({ ...chosen, durationSeconds })}
              />
            </>
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
function whyNotYet(firstFrame: Prediction | null, { isNone }: Take): string | null {
  if (!isNone) return null;
  return isRunning(firstFrame) ? "Waiting for the first frame." : "Generate the first frame first.";
}

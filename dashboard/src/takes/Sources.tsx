import { Group, Text } from "@mantine/core";
import type { Prediction, ProjectWithPredictions, ShotPrediction } from "../../../client/index.ts";
import { nounOf, outdatedWords } from "./status-words.ts";
import { TakePicture } from "./TakePicture.tsx";
import classes from "./takes.module.css";
import { useReferenceAddress } from "../queries/reference-image.ts";
import { frameOf, isUpload } from "./input-words.ts";
import { type Known, usePrediction } from "../queries/use-predictions.ts";

/** `frame`: a path or an id, as StepOptions has it. */
type Source = { alt: string; frame: string | null };

type SourcesProps = {
  project: ProjectWithPredictions;
  label: string;
  sources: Source[];
  more?: string | undefined;
};

/** Pictures that a prediction is, or will be, made from, in one line if there are two. */
export function Sources({ project, label, sources, more }: SourcesProps) {
  return (
    <Group gap="xs" mih={36}>
      <Text size="sm" c="dimmed" style={{ flex: "none" }}>
        {label}
      </Text>
      {sources.map(({ alt, frame }) =>
        frame === null ? null : <Frame key={alt} project={project} frame={frame} alt={alt} />,
      )}
      {more !== undefined && (
        <Text size="sm" c="dimmed" truncate>
          {more}
        </Text>
      )}
    </Group>
  );
}

/** A small picture of a frame of any origin. */
export function Frame({ project, frame, alt }: { project: Known; frame: string; alt: string }) {
  const isPath = isUpload(frame);
  const prediction = usePrediction(project, isPath ? null : frame);
  const { data: address } = useReferenceAddress(isPath ? frame : null);
  if (isPath && address != null) return <img className={classes.thumb} src={address} alt={alt} title={alt} />;
  if (!isPath && prediction != null) return <Thumb alt={alt} prediction={prediction} />;
  if (isPath ? address === null : prediction === null) return <Text size="xs">{alt} was deleted</Text>;
  return <span className={classes.thumb} title={alt} />;
}

type ThumbProps = { prediction: ShotPrediction; alt: string; seconds?: number };

export const Thumb = ({ prediction, alt, ...picture }: ThumbProps) => (
  <TakePicture
    {...picture}
    prediction={prediction}
    alt={alt}
    title={alt}
    className={classes.thumb}
    broken={() => <Text size="xs">{alt} was removed</Text>}
  />
);

type TakeProps = { project: ProjectWithPredictions; prediction: Prediction };

type OutdatedProps = { project: Known & Pick<ProjectWithPredictions, "projectId">; prediction: ShotPrediction };

/** The inputs of an outdated take that the next one would not use. */
export function Outdated({ project, prediction: { input, outdated, changedElements } }: OutdatedProps) {
  const first = usePrediction(project, input.firstFramePredictionId);
  const last = usePrediction(project, input.lastFramePredictionId);
  if (!outdated) return null;
  const frames = [
    ...(input.firstFramePredictionId === null ? [] : [{ name: "first frame", frame: first }]),
    ...(input.lastFramePredictionId === null ? [] : [{ name: "last frame", frame: last }]),
  ];
  return (
    <Text size="sm" mt={6}>
      Outdated. {outdatedWords(project, frames, changedElements, input.continuesPreviousShot === true)}
    </Text>
  );
}

/** The frames that a prediction was made from. Nothing for a picture from only a text. */
export function MadeFrom({ label, ...take }: TakeProps & { label: string }) {
  const { step, input } = take.prediction;
  const first = frameOf(input, "firstFrame");
  if (first === null) return null;
  const of = `this ${nounOf(step)}`;
  const sources = [
    { alt: `First frame of ${of}`, frame: first },
    { alt: `Last frame of ${of}`, frame: frameOf(input, "lastFrame") },
  ];
  return (
    <div>
      <Sources project={take.project} label={label} sources={sources} />
      <Outdated {...take} />
    </div>
  );
}

import { Group, Text } from "@mantine/core";
import type { Prediction, ProjectWithPredictions, ShotPrediction } from "../../../client/index.ts";
import { useReferenceAddress } from "../queries/reference-image.ts";
import { type Known, usePrediction } from "../queries/use-predictions.ts";
import { frameOf, isUpload } from "./input-words.ts";
import { nounOf, outdatedWords } from "./status-words.ts";
import { TakePicture } from "./TakePicture.tsx";
import classes from "./takes.module.css";

type SourcesProps = {
  project: Known;
  label: string;
  /** A frame is a path or an id. */
  frames: { alt: string; frame: string | null }[];
  more?: string | undefined;
};

export const Sources = ({ project, label, frames, more }: SourcesProps) => (
  <Group gap="xs" mih={36}>
    <Text size="sm" c="dimmed" style={{ flex: "none" }}>
      {label}
    </Text>
    {frames.map(({ alt, frame }) => frame !== null && <Frame key={alt} project={project} frame={frame} alt={alt} />)}
    {more !== undefined && (
      <Text size="sm" c="dimmed" truncate>
        {more}
      </Text>
    )}
  </Group>
);

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

type OutdatedProps = { project: Known & Pick<ProjectWithPredictions, "projectId">; prediction: ShotPrediction };

/** The inputs of an outdated take that the next one would not use. */
export function Outdated({ project, prediction: { input, outdated, changedElements } }: OutdatedProps) {
  const { firstFramePredictionId: firstId, lastFramePredictionId: lastId } = input;
  const first = { name: "first frame", frame: usePrediction(project, firstId) };
  const last = { name: "last frame", frame: usePrediction(project, lastId) };
  if (!outdated) return null;
  const frames = [firstId !== null && first, lastId !== null && last].filter((one) => one !== false);
  return (
    <Text size="sm" mt={6}>
      Outdated. {outdatedWords(project, frames, changedElements, input.continuesPreviousShot === true)}
    </Text>
  );
}

type MadeFromProps = { project: ProjectWithPredictions; prediction: Prediction; label: string };

/** The frames that a prediction was made from. Renders nothing for a picture from only a text. */
export function MadeFrom({ project, prediction, label }: MadeFromProps) {
  const { step, input } = prediction;
  const first = frameOf(input, "firstFrame");
  if (first === null) return null;
  const frames = [
    { alt: `First frame of this ${nounOf(step)}`, frame: first },
    { alt: `Last frame of this ${nounOf(step)}`, frame: frameOf(input, "lastFrame") },
  ];
  return (
    <div>
      <Sources project={project} label={label} frames={frames} />
      <Outdated project={project} prediction={prediction} />
    </div>
  );
}

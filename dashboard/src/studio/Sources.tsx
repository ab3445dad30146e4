import { Group, Text, Tooltip } from "@mantine/core";
import type { ReactNode } from "react";
import type { Prediction, ProjectWithPredictions } from "../../../client/index.ts";
import { nounOf, outdatedWords } from "../projects/status-words.ts";
import { useRenewOutput } from "../projects/prediction-cache.ts";
import classes from "./screen.module.css";
import { useReferenceAddress } from "./reference-image.ts";
import { frameOf, isUpload } from "./step-options.ts";
import { usePrediction } from "./use-predictions.ts";

/** `frame`: a path or an id, as StepOptions has it. */
type Source = { alt: string; frame: string | null };

type SourcesProps = {
  project: ProjectWithPredictions;
  label: string;
  sources: Source[];
  more?: ReactNode;
};

/** Pictures that a prediction is, or will be, made from, in one line if there are two. */
export function Sources({ project, label, sources, more }: SourcesProps) {
  return (
    <Group gap="xs" wrap={sources.length > 2 ? "wrap" : "nowrap"} mih={36}>
      <Text size="sm" c="dimmed" style={{ flex: "none" }}>
        {label}
      </Text>
      {sources.map(({ alt, frame }) =>
        frame === null ? null : <Frame key={alt} project={project} frame={frame} alt={alt} />,
      )}
      {typeof more === "string" ? (
        <Text size="sm" c="dimmed" truncate>
          {more}
        </Text>
      ) : (
        more
      )}
    </Group>
  );
}

/** A small picture of a frame, wherever it is from. */
export function Frame({ project, frame, alt }: { project: ProjectWithPredictions; frame: string; alt: string }) {
  const isPath = isUpload(frame);
  const prediction = usePrediction(project, isPath ? null : frame);
  if (isPath) return <UploadedImage path={frame} alt={alt} />;
  if (prediction === null) return <Text size="xs">{alt} was deleted</Text>;
  return prediction === undefined ? <NoPicture alt={alt} /> : <Thumb alt={alt} prediction={prediction} />;
}

/** In place of a picture that is not read yet, or cannot be. */
const NoPicture = ({ alt }: { alt: string }) => <span className={classes.thumb} title={alt} />;

/** A small picture of a take. */
export function Thumb({ prediction, alt }: { prediction: Prediction; alt: string }) {
  const { round, isBroken, onFailed, onLoaded } = useRenewOutput(prediction);
  const src = prediction.output?.url;
  if (isBroken || src === undefined) return <Text size="xs">{alt} was removed</Text>;
  return (
    <img key={round} className={classes.thumb} src={src} alt={alt} title={alt} onError={onFailed} onLoad={onLoaded} />
  );
}

const ALL_EVENTS = { hover: true, focus: true, touch: true };

type InputProps = { project: ProjectWithPredictions; prediction: Prediction; label?: string | undefined };

/** The frames that a prediction was made from. Nothing for a picture from text alone. */
export function MadeFrom({ project, prediction: { step, input, outdated }, label = "Made from" }: InputProps) {
  const first = frameOf(input, "firstFrame");
  const frames = [
    {
      name: "first frame",
      id: input.firstFramePredictionId,
      frame: usePrediction(project, input.firstFramePredictionId),
    },
    { name: "last frame", id: input.lastFramePredictionId, frame: usePrediction(project, input.lastFramePredictionId) },
  ].filter(({ id }) => id !== null);
  if (first === null) return null;
  const of = `this ${nounOf(step)}`;
  const sources = [
    { alt: `First frame of ${of}`, frame: first },
    { alt: `Last frame of ${of}`, frame: frameOf(input, "lastFrame") },
  ];
  const mark = outdated && (
    <Tooltip label={outdatedWords(project, frames)} position="bottom" multiline maw={260} events={ALL_EVENTS}>
      <Text size="sm" tabIndex={0} className={classes.outdated}>
        Outdated
      </Text>
    </Tooltip>
  );
  return <Sources project={project} label={label} sources={sources} more={mark} />;
}

/** An uploaded image, small. */
function UploadedImage({ path, alt }: { path: string; alt: string }) {
  const { data: src } = useReferenceAddress(path);
  return src == null ? <NoPicture alt={alt} /> : <img className={classes.thumb} src={src} alt={alt} title={alt} />;
}

import { Group, Text } from "@mantine/core";
import type { Prediction, ProjectWithPredictions } from "../../../client/index.ts";
import { nounOf } from "../projects/status-words.ts";
import { useRenewOutput } from "../projects/prediction-cache.ts";
import classes from "./screen.module.css";
import { useReferenceAddress } from "./reference-image.ts";
import { usePrediction } from "./use-predictions.ts";

type Source = { alt: string; prediction: Prediction | null };

/** Pictures that a prediction is, or will be, made from, in one line of fixed height. */
export function Sources({ label, sources, more }: { label: string; sources: Source[]; more?: string | undefined }) {
  return (
    <Group gap="xs" wrap="nowrap" mih={36}>
      <Text size="sm" c="dimmed" style={{ flex: "none" }}>
        {label}
      </Text>
      {sources.map(({ alt, prediction }) =>
        prediction === null ? null : <Thumb key={alt} alt={alt} prediction={prediction} />,
      )}
      {more !== undefined && (
        <Text size="sm" c="dimmed" truncate>
          {more}
        </Text>
      )}
    </Group>
  );
}

/** A small picture of a frame. */
export function Thumb({ prediction, alt }: { prediction: Prediction; alt: string }) {
  const { round, isBroken, onFailed, onLoaded } = useRenewOutput(prediction);
  const src = prediction.output?.url;
  if (isBroken || src === undefined) return <Text size="xs">{alt} was removed</Text>;
  return (
    <img key={round} className={classes.thumb} src={src} alt={alt} title={alt} onError={onFailed} onLoad={onLoaded} />
  );
}

type InputProps = { project: ProjectWithPredictions; prediction: Prediction; label?: string | undefined };

/** What a prediction was made from, beside its prompt. Nothing for a picture from text alone. */
export function MadeFrom({ project, prediction: { step, input }, label = "Made from" }: InputProps) {
  const first = usePrediction(project, "first-frame", input.firstFramePredictionId);
  const last = usePrediction(project, "last-frame", input.lastFramePredictionId);
  if (step !== "video" && input.firstFramePredictionId === null) return null;
  const of = `this ${nounOf(step)}`;
  return (
    <Sources
      label={label}
      sources={[
        { alt: `First frame of ${of}`, prediction: first },
        { alt: `Last frame of ${of}`, prediction: last },
      ]}
      more={input.firstFramePredictionId === null ? "a first frame that was deleted" : undefined}
    />
  );
}

/** Reference images, small. Nothing without one. */
export function References({ paths }: { paths: string[] }) {
  if (paths.length === 0) return null;
  return (
    <Group gap="xs" mih={36}>
      <Text size="sm" c="dimmed">
        Reference
      </Text>
      {paths.map((path) => (
        <ReferenceImage key={path} path={path} alt="Reference" />
      ))}
    </Group>
  );
}

/** A reference image, small. */
export function ReferenceImage({ path, alt }: { path: string; alt: string }) {
  const { data: src } = useReferenceAddress(path);
  return src == null ? null : <img className={classes.thumb} src={src} alt={alt} />;
}

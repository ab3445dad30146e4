import { Button, Text } from "@mantine/core";
import { type ComponentProps, useEffect, useRef, useState } from "react";
import type { Prediction, ShotPrediction, Step } from "../../../client/index.ts";
import { IconMovie, IconPhoto } from "../ui/icons.tsx";
import { isRunning } from "../queries/project-queries.ts";
import { isEarlier, nounOf, statusWords, STEP_NAME, USE } from "./status-words.ts";
import { isPicture, type Shown, type ShownFile, TakePicture, useRenewOutput } from "./TakePicture.tsx";
import classes from "./takes.module.css";

type Props = {
  step: Step;
  latest: Prediction | null;
  shown: ShotPrediction | null;
  isSelected?: boolean;
  prompt: string;
  poster?: string | undefined;
  /** For a video only its first picture. */
  isStill?: boolean;
};

/** The step's take in a box of fixed size, with the progress of the next one. */
export function StepScreen({ step, latest, shown, isSelected = false, prompt, poster, ...props }: Props) {
  const { isStill = false } = props;
  const output = shown?.output ?? null;
  const running = isRunning(latest) ? latest : null;
  const alt = `${STEP_NAME[step]}: ${prompt}`;
  const Icon = step === "video" ? IconMovie : IconPhoto;
  return (
    <div className={classes.screen}>
      {shown !== null && <TakeMedia prediction={shown} label={alt} poster={poster} isStill={isStill} />}
      {output === null && (
        <div className={classes.message} aria-hidden>
          <Icon size={32} stroke={1.2} />
          <Text size="sm">{running ? statusWords(running) : emptyWords(latest, shown)}</Text>
        </div>
      )}
      {output !== null && (
        <div className={classes.chips}>
          {isSelected && <span>Used {USE[step]}</span>}
          {running !== null && <span>Next: {statusWords(running)}</span>}
          {running === null && !isSelected && isEarlier(latest, shown) && <span>Earlier {nounOf(step)}</span>}
        </div>
      )}
      {running !== null && (
        <progress
          className={classes.line}
          aria-label={`Progress of the ${STEP_NAME[step].toLowerCase()}`}
          value={running.progress ?? undefined}
        />
      )}
    </div>
  );
}

function emptyWords(latest: Prediction | null, shown: ShotPrediction | null): string {
  if (latest === null) return "Nothing yet";
  if (latest.status !== "succeeded") return statusWords(latest);
  if (shown !== null) return "The file has been removed";
  return latest.hidden ? "Hidden" : ""; // it is read
}

type PlayerProps = Pick<
  ComponentProps<"video">,
  "poster" | "autoPlay" | "onEnded" | "onTimeUpdate" | "controls" | "muted"
>;
type MediaProps = PlayerProps & { prediction: Shown; label: string; isStill?: boolean };

/** The picture or the video of a take; nothing without a file. */
export function TakeMedia({ prediction, label, isStill = false, ...player }: MediaProps) {
  const { output } = prediction;
  if (output === null) return null;
  return !isPicture(output.contentType) && !isStill ? (
    <FilmVideo key={output.path} prediction={prediction} output={output} label={label} {...player} />
  ) : (
    <TakePicture
      key={output.path}
      prediction={prediction}
      alt={label}
      className={classes.media}
      broken={(tryAgain) => <BrokenMedia onRetry={tryAgain} />}
    />
  );
}

/** A fresh URL is used only while the video is paused; playback continues at the same time. Another file begins at its start. */
export function FilmVideo({
  prediction,
  output: { url, path, width, height },
  label,
  ...player
}: MediaProps & { output: ShownFile }) {
  const { round, isBroken, onFailed, onLoaded, tryAgain } = useRenewOutput(prediction);
  const [address, setAddress] = useState(url);
  const element = useRef<HTMLVideoElement>(null);
  const goOnAt = useRef(0);

  // A player that lost its file may report 0; seeking to 0 on purpose goes through onSeeked.
  const remember = (at = 0) => {
    if (at > 0) goOnAt.current = at;
  };
  const switchToFreshUrl = () => {
    remember(element.current?.currentTime);
    setAddress(url);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new address is a reason
  useEffect(() => {
    if (element.current === null || element.current.paused || element.current.error !== null) switchToFreshUrl();
  }, [url]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another file is a reason
  useEffect(() => {
    goOnAt.current = 0;
    setAddress(url);
    onLoaded(); // the failures were those of the file before
  }, [path]);

  if (isBroken) return <BrokenMedia onRetry={tryAgain} />;
  return (
    <video
      key={round}
      ref={element}
      className={classes.media}
      src={address}
      controls
      {...player}
      width={width}
      height={height}
      playsInline
      preload="metadata"
      aria-label={label}
      onError={({ currentTarget }) => {
        remember(currentTarget.currentTime);
        onFailed();
      }}
      onPause={() => address !== url && switchToFreshUrl()}
      onSeeked={({ currentTarget }) => {
        goOnAt.current = currentTarget.currentTime;
      }}
      onLoadedMetadata={({ currentTarget }) => {
        onLoaded();
        if (goOnAt.current > 0) currentTarget.currentTime = goOnAt.current;
      }}
    />
  );
}

function BrokenMedia({ onRetry }: { onRetry: () => void }) {
  return (
    <div className={classes.message} role="alert">
      <Text size="sm">Could not load the file.</Text>
      <Button size="compact-sm" variant="white" onClick={onRetry}>
        Try again
      </Button>
    </div>
  );
}

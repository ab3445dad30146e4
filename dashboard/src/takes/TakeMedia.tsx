import { Button, Text } from "@mantine/core";
import { useDidUpdate } from "@mantine/hooks";
import { type ComponentProps, useRef, useState } from "react";
import { isPicture, type Shown, type ShownFile, TakePicture, useRenewOutput } from "./TakePicture.tsx";
import classes from "./takes.module.css";

type PlayerProps = Pick<
  ComponentProps<"video">,
  "poster" | "autoPlay" | "onEnded" | "onTimeUpdate" | "controls" | "muted"
>;
type MediaProps = PlayerProps & { prediction: Shown; label: string; isStill?: boolean };

/** The picture or the video of a take. Renders nothing without a file. */
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

/** The player takes a fresh URL only while paused, and continues at the same time. Another file begins at its start. */
export function FilmVideo({ prediction, output, label, ...player }: MediaProps & { output: ShownFile }) {
  const { url, path, width, height } = output;
  const { round, isBroken, onFailed, onLoaded, tryAgain } = useRenewOutput(prediction);
  const [address, setAddress] = useState(url);
  const element = useRef<HTMLVideoElement>(null);
  const goOnAt = useRef(0);

  // A player that lost its file may report 0. Seeking to 0 on purpose goes through onSeeked.
  const remember = (at = 0) => {
    if (at > 0) goOnAt.current = at;
  };
  const switchToFreshUrl = () => {
    remember(element.current?.currentTime);
    setAddress(url);
  };
  useDidUpdate(() => {
    if (element.current === null || element.current.paused || element.current.error !== null) switchToFreshUrl();
  }, [url]);
  useDidUpdate(() => {
    goOnAt.current = 0;
    setAddress(url);
    onLoaded(); // the failures belong to the former file
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

const BrokenMedia = ({ onRetry }: { onRetry: () => void }) => (
  <div className={classes.message} role="alert">
    <Text size="sm">Could not load the file.</Text>
    <Button size="compact-sm" variant="white" onClick={onRetry}>
      Try again
    </Button>
  </div>
);

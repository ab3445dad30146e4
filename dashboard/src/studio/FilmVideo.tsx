import { useEffect, useRef, useState } from "react";
import type { Output, Prediction } from "../../../client/index.ts";
import { useRenewOutput } from "../projects/use-renew-output.ts";
import { BrokenMedia } from "./BrokenMedia.tsx";
import classes from "./screen.module.css";

type Props = { run: Prediction; output: Output; label: string; poster?: string | undefined };

/** A generated video. It takes up a fresh address only while it stands still, and goes on where it was. */
export function FilmVideo({ run, output: { url, width, height }, label, poster }: Props) {
  const { round, isBroken, onFailed, onLoaded, tryAgain } = useRenewOutput(run);
  const [address, setAddress] = useState(url);
  const player = useRef<HTMLVideoElement>(null);
  const goOnAt = useRef(0);

  // A player that lost its file may stand at 0 already; who wants to go back there seeks.
  const remember = (at = 0) => {
    if (at > 0) goOnAt.current = at;
  };
  const takeUp = () => {
    remember(player.current?.currentTime);
    setAddress(url);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new address is a reason
  useEffect(() => {
    if (player.current === null || player.current.paused || player.current.error !== null) takeUp();
  }, [url]);

  if (isBroken) return <BrokenMedia onRetry={tryAgain} />;
  return (
    // biome-ignore lint/a11y/useMediaCaption: there is no text to be had of what a model made up
    <video
      key={round}
      ref={player}
      className={classes.media}
      src={address}
      poster={poster}
      width={width}
      height={height}
      controls
      playsInline
      preload="metadata"
      aria-label={label}
      onError={({ currentTarget }) => {
        remember(currentTarget.currentTime);
        onFailed();
      }}
      onPause={() => address !== url && takeUp()}
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

import type { Output, Prediction } from "../../../client/index.ts";
import { useRenewOutput } from "../projects/use-renew-output.ts";
import { BrokenMedia } from "./BrokenMedia.tsx";
import classes from "./screen.module.css";

type Props = { run: Prediction; output: Output; alt: string };

/** A generated frame. */
export function FrameImage({ run, output, alt }: Props) {
  const { round, isBroken, onFailed, onLoaded, tryAgain } = useRenewOutput(run);
  if (isBroken) return <BrokenMedia onRetry={tryAgain} />;
  return (
    <img
      key={round}
      className={classes.media}
      src={output.url}
      width={output.width}
      height={output.height}
      alt={alt}
      onError={onFailed}
      onLoad={onLoaded}
    />
  );
}

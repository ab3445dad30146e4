import { Text } from "@mantine/core";
import { IconMovie, IconPhoto } from "@tabler/icons-react";
import type { Prediction, Step } from "../../../client/index.ts";
import { isRunning } from "../projects/is-running.ts";
import { runWords, STEP_NAME } from "../projects/step-words.ts";
import { FilmVideo } from "./FilmVideo.tsx";
import { FrameImage } from "./FrameImage.tsx";
import { ProgressLine } from "./ProgressLine.tsx";
import classes from "./screen.module.css";

type Props = {
  step: Step;
  latest: Prediction | null;
  /** What there is to see: the latest run that succeeded. */
  shown: Prediction | null;
  prompt: string;
  poster?: string | undefined;
};

/** The picture of a step, of a size that never changes; above it how far the next one is. */
export function StepScreen({ step, latest, shown, prompt, poster }: Props) {
  const output = shown?.output ?? null;
  const running = isRunning(latest) ? latest : null;
  const alt = `${STEP_NAME[step]}: ${prompt}`;
  return (
    <div className={classes.screen}>
      {shown !== null &&
        output !== null &&
        (step === "video" ? (
          <FilmVideo key={output.path} run={shown} output={output} label={alt} poster={poster} />
        ) : (
          <FrameImage key={output.path} run={shown} output={output} alt={alt} />
        ))}
      {output === null && <EmptyScreen step={step} text={running ? runWords(running) : emptyWords(latest)} />}
      {running !== null && output !== null && <span className={classes.chip}>Next: {runWords(running)}</span>}
      {running !== null && <ProgressLine run={running} />}
    </div>
  );
}

function emptyWords(latest: Prediction | null): string {
  if (latest === null) return "Nothing yet";
  return latest.status === "succeeded" ? "The file has been removed" : runWords(latest);
}

function EmptyScreen({ step, text }: { step: Step; text: string }) {
  const Icon = step === "video" ? IconMovie : IconPhoto;
  return (
    <div className={classes.message} aria-hidden>
      <Icon size={32} stroke={1.2} />
      <Text size="sm">{text}</Text>
    </div>
  );
}

import { Text } from "@mantine/core";
import type { Prediction, ShotPrediction, Step } from "../../../client/index.ts";
import { isRunning } from "../queries/project-queries.ts";
import { IconMovie, IconPhoto } from "../ui/Icons.tsx";
import { isEarlier, nounOf, statusWords, STEP_NAME, USE } from "./status-words.ts";
import { TakeMedia } from "./TakeMedia.tsx";
import classes from "./takes.module.css";

type Props = {
  step: Step;
  latest: Prediction | null;
  shown: ShotPrediction | null;
  isSelected?: boolean;
  prompt: string;
  poster?: string | undefined;
  /** Whether a video shows only its first picture. */
  isStill?: boolean;
};

/** The step's take in a box of fixed size, with the progress of the next one. */
export function StepScreen({ step, latest, shown, isSelected = false, prompt, ...media }: Props) {
  const output = shown?.output ?? null;
  const running = isRunning(latest) ? latest : null;
  const Icon = step === "video" ? IconMovie : IconPhoto;
  return (
    <div className={classes.screen}>
      {shown !== null && <TakeMedia prediction={shown} label={`${STEP_NAME[step]}: ${prompt}`} {...media} />}
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
  return latest.hidden ? "Hidden" : ""; // the take is being read
}

import { Button, Group, Modal, Text } from "@mantine/core";
import { type ReactNode, useRef, useState } from "react";
import type { Prediction } from "../../../client/index.ts";
import { projectNoun } from "../queries/project-queries.ts";
import { usePrediction } from "../queries/use-predictions.ts";
import { clockTime } from "../ui/format-time.ts";
import { IconPlayerPause, IconPlayerPlay } from "../ui/Icons.tsx";
import { ErrorNotice } from "../ui/Notices.tsx";
import { Time } from "../ui/Time.tsx";
import { type DialogProps, KeepFocus, useModal } from "../ui/dialog-focus.ts";
import { AboutTake } from "./AboutTake.tsx";
import { STEP_NAME } from "./status-words.ts";
import { TakeMedia } from "./TakeMedia.tsx";
import classes from "./take-dialog.module.css";
import screen from "./takes.module.css";
import type { TakesProps } from "./use-takes.ts";

type Props = TakesProps & DialogProps & { ids: string[] };

/** One take as large as the window allows, or two beside each other. Two videos play in step. */
export function TakeDialog({ ids: [id = "", otherId], isOpen, onClose, ...about }: Props) {
  const { project, selection } = about;
  const read = [usePrediction(project, id), usePrediction(project, otherId ?? null)];
  const takes = read.filter((take) => take != null);
  const [first] = takes;
  const isTwo = otherId !== undefined;
  const firstFrame = usePrediction(project, first?.input.firstFramePredictionId ?? null);
  const name = first === undefined ? "Take" : STEP_NAME[first.step];
  const pictures = takes.map((take, at) => (
    <section key={take.predictionId} aria-label={isTwo ? `Take ${at + 1}` : name}>
      <div className={classes.media}>
        <TakeMedia
          prediction={take}
          label={`${STEP_NAME[take.step]}: ${take.input.prompt}`}
          controls={!isTwo}
          poster={isTwo ? undefined : firstFrame?.output?.url}
          muted={at > 0}
        />
      </div>
      <Text size="xs" c="dimmed">
        <Time iso={take.createdAt} />
      </Text>
      <AboutTake {...about} prediction={take} other={takes.find((one) => one !== take)} />
    </section>
  ));
  return (
    <Modal fullScreen {...useModal({ isOpen, onClose })} title={isTwo ? `Compare: ${name}` : name}>
      <KeepFocus key={takes.length} />
      <ErrorNotice title={`Could not change the ${projectNoun(project)}`} error={selection.change.error} />
      {(read[0] === null || (isTwo && read[1] === null)) && <Text>The take was deleted.</Text>}
      {takes.length === 2 && first?.step === "video" ? (
        <InStep takes={takes}>{pictures}</InStep>
      ) : (
        <div className={classes.takes} data-two={isTwo || undefined}>
          {pictures}
        </div>
      )}
    </Modal>
  );
}

/** A larger drift is corrected. A smaller drift is invisible, and a seek is not. */
const APART_S = 0.15;

/** Plays, pauses and moves all its videos together. The longest leads. A shorter one waits at its end. */
function InStep({ takes, children }: { takes: Prediction[]; children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(0);
  const [isPlaying, setPlaying] = useState(false);
  const length = Math.max(...takes.map(({ output }) => output?.durationSeconds ?? 0));
  const videos = () => [...(box.current?.querySelectorAll("video") ?? [])];
  const moveTo = (video: HTMLVideoElement, to: number) => {
    video.currentTime = Number.isNaN(video.duration) ? to : Math.min(to, video.duration);
  };
  const seek = (to: number) => {
    setAt(to);
    for (const video of videos()) moveTo(video, to);
  };
  const toggle = () => {
    setPlaying(!isPlaying);
    if (!isPlaying && at >= length) seek(0);
    for (const video of videos()) {
      if (isPlaying) video.pause();
      else video.play().catch(() => setPlaying(false)); // paused meanwhile, or without its file
    }
  };
  const keepInStep = () => {
    const [leader, ...others] = videos().toSorted((one, other) => other.duration - one.duration);
    if (leader === undefined || leader.paused) return;
    setAt(leader.currentTime);
    for (const video of others) {
      const to = Math.min(leader.currentTime, video.duration);
      if (Math.abs(video.currentTime - to) > APART_S) moveTo(video, to);
    }
  };
  const stopAtEnd = () => videos().every((video) => video.ended) && setPlaying(false);
  return (
    <>
      <div className={classes.takes} data-two ref={box} onTimeUpdateCapture={keepInStep} onEndedCapture={stopAtEnd}>
        {children}
      </div>
      <Group className={`${screen.hint} ${classes.player}`} wrap="nowrap">
        <Button
          variant="default"
          data-autofocus
          leftSection={isPlaying ? <IconPlayerPause size={16} /> : <IconPlayerPlay size={16} />}
          onClick={toggle}
        >
          {isPlaying ? "Pause" : "Play"}
        </Button>
        <input
          type="range"
          aria-label="Position of both videos"
          aria-valuetext={`${at.toFixed(1)} s`}
          min={0}
          max={length}
          step={0.1}
          value={at}
          onChange={({ currentTarget }) => seek(currentTarget.valueAsNumber)}
        />
        <Text size="sm">{`${clockTime(at * 1000)} / ${clockTime(length * 1000)}`}</Text>
      </Group>
    </>
  );
}

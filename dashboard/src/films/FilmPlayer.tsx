import { Group, Text } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { FilmVideo, TakeMedia } from "../takes/TakeMedia.tsx";
import { isPicture, type ShownFile } from "../takes/TakePicture.tsx";
import screen from "../takes/takes.module.css";
import { clockTime } from "../ui/format-time.ts";

type PlayedFile = ShownFile & { durationSeconds?: number | undefined };
/** `poster`: the picture of the video's first frame. */
type ShotVideo = { id: string; title: string; number: number; output: PlayedFile; poster?: string | undefined };

/** How long the player shows a picture that a model made instead of a video: its length is unknown. */
const PICTURE_SECONDS = 4;
const secondsOf = ({ durationSeconds, contentType }: PlayedFile) =>
  durationSeconds ?? (isPicture(contentType) ? PICTURE_SECONDS : 0);

/** The state of a film's player. `videos`: the shots' videos, in order. */
export function useFilmPlayer(videos: ShotVideo[]) {
  const frame = useRef<HTMLDivElement>(null);
  const [played, show] = useState<string | null>(null);
  const shown = videos.find(({ id }) => id === played) ?? videos[0];
  /** Plays from the beginning of a shot. */
  const play = (id: string) => {
    show(id);
    frame.current?.scrollIntoView({ block: "nearest" });
    const video = frame.current?.querySelector("video");
    if (!video || id !== shown?.id) return; // another file plays by itself
    video.currentTime = 0;
    video.play().catch(() => undefined); // paused meanwhile
  };
  return { frame, videos, shown, isPlaying: played !== null, show, play }; // isPlaying stays true while paused
}

/** Plays all videos in one player: a second player would end full screen and lose the focus. */
export function FilmPlayer({ player, count }: { player: ReturnType<typeof useFilmPlayer>; count: number }) {
  const { frame, videos, shown, isPlaying, show } = player;
  const [at, setAt] = useState({ path: "", seconds: 0 });
  const isShown = shown !== undefined && isPicture(shown.output.contentType);
  const place = shown ? videos.indexOf(shown) : 0;
  const next = videos[place + 1]?.id ?? null;
  useEffect(() => {
    if (!isShown || !isPlaying) return;
    const timer = setTimeout(() => show(next), PICTURE_SECONDS * 1000);
    return () => clearTimeout(timer);
  }, [isShown, isPlaying, next, show]);
  if (shown === undefined) return null;
  const { title, number, output } = shown;
  const label = `Shot ${number}: ${title}`;
  const lengthOf = (some: ShotVideo[]) => some.reduce((sum, one) => sum + secondsOf(one.output), 0);
  const now = lengthOf(videos.slice(0, place)) + (at.path === output.path ? at.seconds : 0);
  return (
    <div ref={frame}>
      <div className={screen.screen}>
        {isShown ? (
          <TakeMedia prediction={shown} label={label} />
        ) : (
          <FilmVideo
            prediction={shown}
            output={output}
            label={label}
            poster={shown.poster}
            autoPlay={isPlaying}
            onTimeUpdate={({ currentTarget }) => setAt({ path: output.path, seconds: currentTarget.currentTime })}
            onEnded={() => show(next)}
          />
        )}
      </div>
      <Group justify="space-between" wrap="nowrap" mt={6}>
        <Text size="sm" c="dimmed">
          Shot {number} of {count}: {title}
        </Text>
        <Text size="sm" c="dimmed" className={screen.clock} title="Position in the film">
          {clockTime(now * 1000)} / {clockTime(lengthOf(videos) * 1000)}
        </Text>
      </Group>
    </div>
  );
}

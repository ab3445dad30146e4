import { Progress, Radio, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { FilmWithShots } from "../../../client/index.ts";
import { useKeyframe } from "../services.ts";
import { FormWindow } from "../ui/windows.tsx";
import { missingWords, openFile, readVideos, safeName } from "./film-files.ts";

const MOST_IN_MEMORY = 1_000_000_000; // two copies of more may be too much for a tab

type Props = { film: FilmWithShots; isOpen: boolean; onClose: () => void };

/** Downloads a film as one file. What is downloaded of the shots is kept until the window is closed. */
export function DownloadFilm({ film, isOpen, onClose }: Props) {
  const keyframe = useKeyframe();
  const [format, setFormat] = useState("mp4");
  const [progress, setProgress] = useState({ share: 0, words: "" });
  const running = useRef<AbortController>(null);
  const kept = useRef(new Map<string, Blob>());
  useEffect(() => () => running.current?.abort(), []);

  const download = useMutation({
    mutationFn: async (): Promise<string | null> => {
      running.current = new AbortController();
      const { signal } = running.current;
      const onProgress = (share: number, words: string) => setProgress({ share, words });
      const name = `${safeName(film.title)}.${format}`;
      // First, because a browser opens its window only just after a click.
      const file = await openFile(name).catch(nullIfAborted);
      if (file === null) return null;
      try {
        const videos = await readVideos(keyframe, film.filmId, kept.current, onProgress, signal);
        if (videos.reduce((sum, video) => sum + video.file.size, 0) > MOST_IN_MEMORY && file.isMemory)
          throw new Error("This browser makes files up to 1 GB, and the film is larger. Use Chrome or Edge.");
        if (format === "mp4") await (await import("./join-film.ts")).joinFilm(videos, file, onProgress, signal);
        else await (await import("./zip-film.ts")).zipFilm(videos, file, onProgress, signal);
        signal.throwIfAborted();
        await file.close();
        return name;
      } catch (error) {
        await file.discard?.();
        throw error;
      }
    },
  });
  const close = () => {
    running.current?.abort();
    kept.current.clear();
    onClose();
  };
  const missing = missingWords(film.shots);
  return (
    <FormWindow
      title="Download film"
      submit="Download"
      failed="Could not make the file"
      isOpen={isOpen}
      onClose={close}
      saving={download}
      canSubmit={missing === null}
      done={download.data && <Text role="status">“{download.data}” is saved.</Text>}
      onSubmit={() => download.mutate()}
    >
      <Radio.Group label="Format" value={format} onChange={setFormat} disabled={download.isPending}>
        <Stack gap="xs" mt="xs">
          <Radio value="mp4" label="One MP4" description="Made in this browser, in the size of the first shot." />
          <Radio value="zip" label="A zip of the shots" description="With the command by which ffmpeg joins them." />
        </Stack>
      </Radio.Group>
      {missing !== null && <Text size="sm">{missing}</Text>}
      {download.isPending && (
        <div>
          <Text role="status">{progress.words}</Text>
          <Progress value={100 * progress.share} aria-label="Progress of the film" />
        </div>
      )}
    </FormWindow>
  );
}

/** Nothing was chosen in the browser's window. */
function nullIfAborted(error: unknown): null {
  if (error instanceof DOMException && error.name === "AbortError") return null;
  throw error;
}

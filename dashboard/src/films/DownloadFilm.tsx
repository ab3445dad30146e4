import { Progress, Radio, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { type FilmProgress, joinFilm, missingVideos, safeFileName, zipFilm } from "../../../client/film.ts";
import type { FilmWithShots } from "../../../client/index.ts";
import { CHANGES_NOTHING } from "../queries/query-client.ts";
import { useKeyframe } from "../services.ts";
import { saveAs } from "../steps/use-download.ts";
import { FormWindow } from "../ui/windows.tsx";

declare global {
  // In Chromium only, so not in TypeScript.
  interface Window {
    showSaveFilePicker?: (options: { suggestedName: string }) => Promise<FileSystemFileHandle>;
  }
  interface FileSystemFileHandle {
    remove?: () => Promise<void>;
  }
}

const DOING = { downloading: "Downloading", joining: "Joining", packing: "Packing" };

type Props = { film: FilmWithShots; isOpen: boolean; onClose: () => void };

/** Downloads a film as one file. What is downloaded of the shots is kept until the window is closed. */
export function DownloadFilm({ film, isOpen, onClose }: Props) {
  const keyframe = useKeyframe();
  const [format, setFormat] = useState("mp4");
  const [progress, setProgress] = useState<FilmProgress | null>(null);
  const running = useRef<AbortController>(null);
  const downloads = useRef(new Map<string, Blob>());
  useEffect(() => () => running.current?.abort(), []);

  const download = useMutation({
    meta: CHANGES_NOTHING,
    mutationFn: async (): Promise<string | null> => {
      running.current = new AbortController();
      const { signal } = running.current;
      setProgress(null);
      const name = `${safeFileName(film.title)}.${format}`;
      // First: a browser opens its file window only right after a click. Undefined: the browser has none.
      const file = await window.showSaveFilePicker?.({ suggestedName: name }).catch(nullIfAborted);
      if (file === null) return null;
      try {
        const fresh = await keyframe.films.read(film.filmId, { signal }); // with URLs that are valid
        const make = format === "mp4" ? joinFilm : zipFilm;
        const made = await make(fresh, { file, onProgress: setProgress, signal, downloads: downloads.current });
        if (file === undefined) {
          const url = URL.createObjectURL(made);
          saveAs(url, name);
          setTimeout(() => URL.revokeObjectURL(url), 60_000);
        }
        return name;
      } catch (error) {
        if ((await file?.getFile())?.size === 0) await file?.remove?.(); // the browser made it
        throw error;
      }
    },
  });
  const close = () => {
    running.current?.abort();
    downloads.current.clear();
    onClose();
  };
  const missing = missingVideos(film);
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
          <Radio
            value="mp4"
            label="One MP4"
            description="Made in this browser, in the size of the first shot. Where the browser cannot make AAC, sound that is encoded again is Opus, which some players do not play."
          />
          <Radio value="zip" label="A zip of the shots" description="With the ffmpeg command that joins them." />
        </Stack>
      </Radio.Group>
      {missing !== null && <Text size="sm">{missing}</Text>}
      {download.isPending && progress !== null && (
        <div>
          <Text role="status">
            {DOING[progress.doing]} shot {progress.shot} of {progress.shots}
          </Text>
          <Progress value={100 * progress.share} aria-label="Progress of the film" />
        </div>
      )}
    </FormWindow>
  );
}

/** Whether the user closed the browser's file window. */
function nullIfAborted(error: unknown): null {
  if (error instanceof DOMException && error.name === "AbortError") return null;
  throw error;
}

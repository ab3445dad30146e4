import { Progress, Radio, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { type FilmProgress, joinFilm, missingShots, safeFileName, zipFilm } from "../../../client/film.ts";
import type { FilmWithShots } from "../../../client/index.ts";
import { useDeleted } from "../queries/delete-later.tsx";
import { CHANGES_NOTHING } from "../queries/query-client.ts";
import { useKeyframe } from "../services.ts";
import { saveAs } from "../takes/use-download.ts";
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
  const deleted = useDeleted();
  const [format, setFormat] = useState("mp4");
  const [progress, setProgress] = useState<FilmProgress | null>(null);
  const running = useRef<AbortController>(null);
  const downloads = useRef(new Map<string, Blob>());
  useEffect(() => () => running.current?.abort(), []);

  const missing = missingShots(film);
  const isRoughCut = missing.length > 0;
  const download = useMutation({
    meta: CHANGES_NOTHING,
    mutationFn: async (): Promise<string | null> => {
      running.current = new AbortController();
      const { signal } = running.current;
      setProgress(null);
      const name = `${safeFileName(film.title)}${isRoughCut ? " (rough cut)" : ""}.${format}`;
      // First: a browser opens its file window only right after a click. Undefined: the browser has none.
      const file = await window.showSaveFilePicker?.({ suggestedName: name }).catch(nullIfAborted);
      if (file === null) return null;
      try {
        const read = await keyframe.films.read(film.filmId, { signal }); // with URLs that are valid
        const fresh = { ...read, shots: read.shots.filter(({ projectId }) => !deleted.has(projectId)) };
        const make = format === "mp4" ? joinFilm : zipFilm;
        const options = { file, isRoughCut, onProgress: setProgress, signal, downloads: downloads.current };
        const made = await make(fresh, options);
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
  return (
    <FormWindow
      title="Download film"
      submit={isRoughCut ? "Download rough cut" : "Download"}
      failed="Could not make the file"
      isOpen={isOpen}
      onClose={close}
      saving={download}
      canSubmit={missing.length < film.shots.length}
      done={download.data && <Text role="status">“{download.data}” is saved.</Text>}
      onSubmit={() => download.mutate()}
    >
      <Radio.Group label="Format" value={format} onChange={setFormat} disabled={download.isPending}>
        <Stack gap="xs" mt="xs">
          <Radio
            value="mp4"
            label="One MP4"
            description="Made in this browser, in the size of the first shot. If your browser can't encode AAC, the sound will be Opus, which some players can't play."
          />
          <Radio value="zip" label="A zip of the shots" description="With the ffmpeg command that joins them." />
        </Stack>
      </Radio.Group>
      {isRoughCut && (
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>
          {missing.length < film.shots.length
            ? `This is a rough cut. Left out, because they have no video yet: ${listWords(missing)}.`
            : "No shot has a video yet."}
        </Text>
      )}
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

const MOST_NAMED = 10;
const listWords = (shots: string[]): string =>
  [...shots.slice(0, MOST_NAMED), ...(shots.length > MOST_NAMED ? [`and ${shots.length - MOST_NAMED} more`] : [])].join(
    "; ",
  );

/** Whether the user closed the browser's file window. */
function nullIfAborted(error: unknown): null {
  if (error instanceof DOMException && error.name === "AbortError") return null;
  throw error;
}

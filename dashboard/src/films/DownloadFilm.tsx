import { Progress, Radio, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { type FilmProgress, joinFilm, missingShots, safeFileName, zipFilm } from "../../../client/film.ts";
import type { FilmWithShots } from "../../../client/index.ts";
import { useDeleted } from "../queries/delete-later.ts";
import { CHANGES_NOTHING } from "../queries/query-client.ts";
import { useKeyframe } from "../services.ts";
import { saveAs } from "../takes/use-download.ts";
import { type DialogProps, FormDialog } from "../ui/Dialogs.tsx";

declare global {
  // TypeScript does not declare these: only Chromium has them.
  interface Window {
    showSaveFilePicker?: (options: { suggestedName: string }) => Promise<FileSystemFileHandle>;
  }
  interface FileSystemFileHandle {
    remove?: () => Promise<void>;
  }
}

const DOING = { downloading: "Downloading", joining: "Joining", packing: "Packing" };

/** Makes one file of a film. Downloaded shots are kept until `close`. */
function useFilmFile(film: FilmWithShots, isRoughCut: boolean) {
  const keyframe = useKeyframe();
  const deleted = useDeleted();
  const [progress, setProgress] = useState<FilmProgress | null>(null);
  const running = useRef<AbortController>(null);
  const downloads = useRef(new Map<string, Blob>());
  useEffect(() => () => running.current?.abort(), []);

  const making = useMutation({
    meta: CHANGES_NOTHING,
    mutationFn: async (format: Format): Promise<string | null> => {
      running.current = new AbortController();
      const { signal } = running.current;
      setProgress(null);
      const name = `${safeFileName(film.title)}${isRoughCut ? " (rough cut)" : ""}.${format}`;
      // The file dialog comes first: a browser opens it only right after a click. Undefined: the browser has none.
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
        if ((await file?.getFile())?.size === 0) await file?.remove?.(); // the browser created the empty file
        throw error;
      }
    },
  });
  const close = () => {
    running.current?.abort();
    downloads.current.clear();
  };
  return { making, progress: making.isPending ? progress : null, close };
}

type Format = "mp4" | "zip";

export function DownloadFilm({ film, isOpen, onClose }: DialogProps & { film: FilmWithShots }) {
  const [format, setFormat] = useState<Format>("mp4");
  const missing = missingShots(film);
  const isRoughCut = missing.length > 0;
  const isEmpty = missing.length === film.shots.length;
  const { making, progress, close } = useFilmFile(film, isRoughCut);
  return (
    <FormDialog
      title="Download film"
      submit={isRoughCut ? "Download rough cut" : "Download"}
      failed="Could not make the file"
      isOpen={isOpen}
      onClose={() => {
        close();
        onClose();
      }}
      saving={making}
      canSubmit={!isEmpty}
      done={making.data && <Text role="status">“{making.data}” is saved.</Text>}
      onSubmit={() => making.mutate(format)}
    >
      <Radio.Group label="Format" value={format} onChange={setFormat} disabled={making.isPending}>
        <Stack gap="xs" mt="xs">
          <Radio
            value="mp4"
            label="One MP4"
            description="Made in this browser, at the size of the first shot. If your browser can't encode AAC, the sound will be Opus, which some players can't play."
          />
          <Radio value="zip" label="A zip of the shots" description="With the ffmpeg command that joins them." />
        </Stack>
      </Radio.Group>
      {isRoughCut && (
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>
          {isEmpty
            ? "No shot has a video yet."
            : `This is a rough cut. Left out, because they have no video yet: ${listWords(missing)}.`}
        </Text>
      )}
      {progress !== null && (
        <div>
          <Text role="status">
            {DOING[progress.doing]} shot {progress.shot} of {progress.shots}
          </Text>
          <Progress value={100 * progress.share} aria-label="Progress of the film" />
        </div>
      )}
    </FormDialog>
  );
}

const MAX_NAMED = 10;

function listWords(shots: string[]): string {
  const named = shots.slice(0, MAX_NAMED).join("; ");
  return shots.length > MAX_NAMED ? `${named}; and ${shots.length - MAX_NAMED} more` : named;
}

/** Whether the user closed the browser's file dialog. */
function nullIfAborted(error: unknown): null {
  if (error instanceof DOMException && error.name === "AbortError") return null;
  throw error;
}

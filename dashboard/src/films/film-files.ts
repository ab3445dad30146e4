import type { KeyframeClient, Output, Shot } from "../../../client/index.ts";

declare global {
  // In Chromium only, so not in TypeScript.
  interface Window {
    showSaveFilePicker?: (options: { suggestedName: string }) => Promise<FileSystemFileHandle>;
  }
  interface FileSystemFileHandle {
    remove?: () => Promise<void>;
  }
}

/** How much of a download is done, from 0 to 1, and what is being done. */
export type OnProgress = (share: number, words: string) => void;
export type ShotVideo = { title: string; file: Blob; output: Output };

/** Which shots a film cannot have yet; null: none. */
export function missingWords(shots: Shot[]): string | null {
  const missing = shots.flatMap(({ title, takes }, at) => (takes.video?.output ? [] : [`${at + 1}, “${title}”`]));
  if (missing.length === 0) return null;
  return `No video yet: shot ${missing.join("; shot ")}. Generate it, or take the shot out of the film.`;
}

/** The videos of a film in order. `kept` has those that were downloaded before, and keeps the others. */
export async function readVideos(
  keyframe: KeyframeClient,
  filmId: string,
  kept: Map<string, Blob>,
  onProgress: OnProgress,
  signal: AbortSignal,
): Promise<ShotVideo[]> {
  const { shots } = await keyframe.films.read(filmId, { signal }); // with fresh URLs
  const missing = missingWords(shots);
  if (missing !== null) throw new Error(missing);
  const videos: ShotVideo[] = [];
  for (const [at, { title, takes }] of shots.entries()) {
    const output = takes.video?.output;
    if (!output) continue;
    onProgress(at / shots.length / 2, `Downloading shot ${at + 1} of ${shots.length}`);
    const file = kept.get(output.path) ?? (await fetchVideo(output.url, `shot ${at + 1}, “${title}”`, signal));
    kept.set(output.path, file);
    videos.push({ title, file, output });
  }
  return videos;
}

async function fetchVideo(url: string, shot: string, signal: AbortSignal): Promise<Blob> {
  let reason = "no answer";
  try {
    const response = await fetch(url, { signal });
    if (response.ok) return await response.blob();
    reason = `status ${response.status}`;
  } catch {
    signal.throwIfAborted();
  }
  const { origin, pathname } = new URL(url); // what follows them is a secret
  throw new Error(`Could not download ${shot}: ${reason} from ${origin}${pathname}. Try again: the others are kept.`);
}

/** A title as a file name, without characters that mean something to a file system or a shell. */
export function safeName(title: string): string {
  const safe = title.replace(/[\p{Cc}\\/:*?"'<>|$%!`\s]+/gu, " ").slice(0, 80);
  return safe.replace(/^[. ]+|[. ]+$/g, "") || "Untitled";
}

/** Bytes, or bytes at a place of the file. */
type Chunk = Uint8Array<ArrayBuffer> | { data: Uint8Array<ArrayBuffer>; position: number };
/** Memory takes chunks in their order only. */
export type NewFile = {
  isMemory: boolean;
  write: (chunk: Chunk) => void | Promise<void>;
  close(): unknown;
  discard?(): Promise<void>;
};

/** A file that the user chooses; where the browser has no such window, memory that is downloaded when it is closed. */
export async function openFile(name: string): Promise<NewFile> {
  if (!window.showSaveFilePicker) return openMemory(name);
  const handle = await window.showSaveFilePicker({ suggestedName: name });
  const file = await handle.createWritable();
  return {
    isMemory: false,
    write: (chunk) => file.write("position" in chunk ? { type: "write", ...chunk } : chunk),
    close: () => file.close(),
    discard: async () => {
      await file.abort();
      if ((await handle.getFile()).size === 0) await handle.remove?.(); // the browser made it
    },
  };
}

function openMemory(name: string): NewFile {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  return {
    isMemory: true,
    write: (chunk) => void parts.push("position" in chunk ? chunk.data : chunk),
    close: () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob(parts));
      link.download = name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    },
  };
}

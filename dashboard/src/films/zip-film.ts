// client-zip writes a zip as a stream without compressing, which videos do not need, in 3 kB.
import { makeZip } from "client-zip";
import { type NewFile, type OnProgress, safeName, type ShotVideo } from "./film-files.ts";

/** A zip of the shots, with the list and the command by which ffmpeg joins them. */
export async function zipFilm(videos: ShotVideo[], file: NewFile, onProgress: OnProgress, signal: AbortSignal) {
  const digits = String(videos.length).length;
  const names = videos.map(
    ({ title }, at) => `${String(at + 1).padStart(Math.max(2, digits), "0")}-${safeName(title)}.mp4`,
  );
  async function* files() {
    yield { name: "README.txt", input: `Join the shots with ffmpeg, in this folder:\n\n${command(videos, names)}\n` };
    yield { name: "list.txt", input: names.map((name) => `file '${name}'\n`).join("") };
    for (const [at, video] of videos.entries()) {
      onProgress(0.5 + at / videos.length / 2, `Packing shot ${at + 1} of ${videos.length}`);
      yield { name: names[at], input: video.file.stream(), size: video.file.size };
    }
  }
  const sink = new WritableStream<Uint8Array>({ write: (bytes) => file.write(new Uint8Array(bytes)) });
  await makeZip(files()).pipeTo(sink, { signal });
}

/** Copies shots that are alike, and encodes others again in the size of the first. */
function command(videos: ShotVideo[], names: string[]): string {
  const kinds = videos.map(({ output: { width, height, hasAudio } }) => `${width}:${height} ${hasAudio}`);
  if (new Set(kinds).size === 1) return "ffmpeg -f concat -safe 0 -i list.txt -c copy film.mp4";
  const size = kinds[0]?.split(" ")[0];
  const fit = `scale=${size}:force_original_aspect_ratio=decrease,pad=${size}:-1:-1,setsar=1,fps=24`;
  const parts = videos.map(({ output }, at) => {
    const silence = `anullsrc=cl=stereo:r=48000,atrim=duration=${output.durationSeconds}`;
    const sound = output.hasAudio ? `[${at}:a]aformat=sample_rates=48000:channel_layouts=stereo` : silence;
    return `[${at}:v]${fit}[v${at}];${sound}[a${at}];`;
  });
  const inputs = names.map((name) => `-i "${name}"`).join(" ");
  const joined = `${videos.map((_, at) => `[v${at}][a${at}]`).join("")}concat=n=${videos.length}:v=1:a=1[v][a]`;
  return `ffmpeg ${inputs} -filter_complex "${parts.join("")}${joined}" -map "[v]" -map "[a]" film.mp4`;
}

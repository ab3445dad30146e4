// client-zip writes a zip as a stream without compressing, which videos do not need, in 3 kB.
import { makeZip } from "client-zip";
import { safeFileName, type ShotFile, type Sink } from "./film-shots.ts";

/** A zip of the shots, with the list and the command by which ffmpeg joins them. */
export async function writeZip(shots: ShotFile[], { write, onShot, signal }: Sink): Promise<void> {
  const digits = String(shots.length).length;
  const names = shots.map(
    ({ title }, at) => `${String(at + 1).padStart(Math.max(2, digits), "0")}-${safeFileName(title)}.mp4`,
  );
  async function* files() {
    yield { name: "README.txt", input: `Join the shots with ffmpeg, in this folder:\n\n${command(shots, names)}\n` };
    yield { name: "list.txt", input: names.map((name) => `file '${name}'\n`).join("") };
    for (const [at, { file }] of shots.entries()) {
      onShot(at);
      yield { name: names[at], input: file.stream(), size: file.size };
    }
  }
  let position = 0;
  const zip = new WritableStream<Uint8Array>({
    write: async (bytes) => {
      const data = new Uint8Array(bytes);
      await write({ type: "write", data, position });
      position += data.length;
    },
  });
  await makeZip(files()).pipeTo(zip, signal === undefined ? {} : { signal });
}

/** Copies shots that are alike, and encodes others again in the size of the first. */
function command(shots: ShotFile[], names: string[]): string {
  const kinds = shots.map(({ output: { width, height, hasAudio } }) => `${width}:${height} ${hasAudio}`);
  if (new Set(kinds).size === 1) return "ffmpeg -f concat -safe 0 -i list.txt -c copy film.mp4";
  const size = kinds[0]?.split(" ")[0];
  const fit = `scale=${size}:force_original_aspect_ratio=decrease,pad=${size}:-1:-1,setsar=1,fps=24`;
  const parts = shots.map(({ output }, at) => {
    const silence = `anullsrc=cl=stereo:r=48000,atrim=duration=${output.durationSeconds}`;
    const sound = output.hasAudio ? `[${at}:a]aformat=sample_rates=48000:channel_layouts=stereo` : silence;
    return `[${at}:v]${fit}[v${at}];${sound}[a${at}];`;
  });
  const inputs = names.map((name) => `-i "${name}"`).join(" ");
  const joined = `${shots.map((_, at) => `[v${at}][a${at}]`).join("")}concat=n=${shots.length}:v=1:a=1[v][a]`;
  return `ffmpeg ${inputs} -filter_complex "${parts.join("")}${joined}" -map "[v]" -map "[a]" film.mp4`;
}

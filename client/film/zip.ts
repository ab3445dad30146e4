// client-zip writes a zip as a stream without compressing, which videos do not need, in 3 kB.
import { makeZip } from "client-zip";
import { openVideo } from "./open.ts";
import { safeFileName, type ShotFile, type Sink } from "./shots.ts";

/** A zip of the shots, with the list and the command by which ffmpeg joins them. */
export async function writeZip(shots: ShotFile[], { write, onShot, signal }: Sink): Promise<void> {
  const digits = String(shots.length).length;
  const names = shots.map(
    ({ title, output }, at) =>
      `${String(at + 1).padStart(Math.max(2, digits), "0")}-${safeFileName(title)}.${output.path.split(".").at(-1)}`,
  );
  const kinds: (Kind | null)[] = [];
  for (const { file } of shots) kinds.push(await readKind(file)); // one in memory at a time
  async function* files() {
    const input = `Join the shots with ffmpeg, in this folder:\n\n${command(shots, kinds, names)}\n`;
    yield { name: "README.txt", input };
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

/** The properties that must be equal for shots to be copied into one file, and the frame rate. */
type Kind = { text: string; rate: number; isOfMp4: boolean };

/** Returns null for a file that cannot be read. Such a file is encoded again. */
async function readKind(file: Blob): Promise<Kind | null> {
  const opened = await openVideo(file);
  if (opened === null) return null;
  const { input, video, sound } = opened;
  try {
    const { averagePacketRate } = await video.computePacketStats();
    const kinds = await Promise.all(
      [video, ...(sound ? [sound] : [])].map(async (track) => {
        const config = await track.getDecoderConfig();
        return [{ ...config, description: String(config?.description as Uint8Array) }, await track.getTimeResolution()];
      }),
    );
    const rate = Number(averagePacketRate.toFixed(3));
    const text = JSON.stringify([kinds, await video.getRotation(), await video.getFlip(), rate]);
    return { text, rate, isOfMp4: (await video.getCodec()) !== "vp8" };
  } catch {
    return null;
  } finally {
    input.dispose();
  }
}

/**
 * Copies shots of equal formats. ffmpeg silently drops shots of other formats. So if formats differ, all are encoded again in the size of the
 * first, with the highest frame rate, and each sound where it begins.
 */
function command(shots: ShotFile[], kinds: (Kind | null)[], names: string[]): string {
  const [first] = kinds;
  if (first?.isOfMp4 && kinds.every((kind) => kind?.text === first.text))
    return "ffmpeg -f concat -safe 0 -i list.txt -c copy film.mp4";
  const even = (pixels: number) => pixels - (pixels % 2); // as encoders require
  const { width = 1280, height = 720 } = shots.find(({ output }) => output.width !== undefined)?.output ?? {};
  const size = `${even(width)}:${even(height)}`;
  const rate = Math.max(...kinds.map((kind) => kind?.rate ?? 24));
  const fit = `scale=iw*sar:ih,scale=${size}:force_original_aspect_ratio=decrease,pad=${size}:-1:-1,setsar=1,fps=${rate},format=yuv420p`;
  const parts = shots.map(({ output }, at) => {
    // If the length is unknown, concat fills the rest.
    const silence = `anullsrc=cl=stereo:r=48000,atrim=duration=${output.durationSeconds ?? 1}`;
    const sound = output.hasAudio
      ? `[${at}:a]aresample=48000:async=1:first_pts=0,aformat=channel_layouts=stereo`
      : silence;
    return `[${at}:v]${fit}[v${at}];${sound}[a${at}];`;
  });
  const inputs = names.map((name) => `-i "${name}"`).join(" ");
  const joined = `${shots.map((_, at) => `[v${at}][a${at}]`).join("")}concat=n=${shots.length}:v=1:a=1[v][a]`;
  return `ffmpeg ${inputs} -filter_complex "${parts.join("")}${joined}" -map "[v]" -map "[a]" film.mp4`;
}

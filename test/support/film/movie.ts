import { createFile, MP4BoxBuffer } from "mp4box";

/** What a reader that is not ours finds in an MP4. */
export function readMovie(bytes: Uint8Array<ArrayBuffer>): {
  codec: string;
  width: number;
  height: number;
  seconds: number;
} {
  const file = createFile();
  let found: ReturnType<typeof readMovie> | undefined;
  file.onReady = ({ duration, timescale, videoTracks: [track] }) => {
    if (!track?.video) return;
    const { width, height } = track.video;
    found = { codec: track.codec, width, height, seconds: duration / timescale };
  };
  file.appendBuffer(MP4BoxBuffer.fromArrayBuffer(bytes.buffer, 0));
  file.flush();
  if (!found) throw new Error("The file is not an MP4 with a video track.");
  return found;
}

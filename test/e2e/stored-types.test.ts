import { createClient } from "@supabase/supabase-js";
import { expect, inject, test } from "vitest";
import { MEDIA_EXTENSIONS } from "../../shared/media/media.ts";
import { createCheckedCopy } from "../../supabase/functions/keyframe-generate/tasks/store.ts";
import { launchBrowser } from "../../tools/demo/browser.ts";
import { patched, readClip, recorded } from "../support/media/clips.ts";
import { bmpOf, drawImage, iconOf, os2BmpOf } from "../support/media/images.ts";

/** In a page: how a file is shown or played, or why it is not. */
const SHOW = `async (url, isImage) => {
  if (isImage) {
    const image = Object.assign(new Image(), { src: url });
    return await image.decode().then(() => [image.naturalWidth, image.naturalHeight, null], String);
  }
  const video = Object.assign(document.createElement("video"), { src: url, muted: true, playbackRate: 16 });
  const ended = new Promise((resolve) => Object.assign(video, { onended: () => resolve(null), onerror: () => resolve(video.error.message) }));
  await video.play().catch(() => null);
  return (await ended) ?? [video.videoWidth, video.videoHeight, video.duration];
}`;

test("each type of file that generate stores → accepted by the bucket, and shown by a browser as its type", async () => {
  const frames = [
    await drawImage("png"),
    await drawImage("jpeg"),
    await drawImage("webp"),
    bmpOf(48, -27),
    bmpOf(48, 27),
    os2BmpOf(48, 27),
    iconOf(await drawImage("png"), 48),
  ];
  const moving = ["moving.png", "moving.webp", "moving.gif", "moving.avif"].map(readClip);
  const vp9 = readClip("vp9-opus.webm");
  const quickTime = readClip("quicktime.mov");
  const videos = [
    ...["plain.mp4", "av1.mp4", "vp9-opus.mp4", "no-brand.mov", "vp8-vorbis.webm", "h264.mkv"].map(readClip),
    ...[vp9, recorded(vp9), quickTime, patched(quickTime, "ftyp", 0, [0x77, 0x69, 0x64, 0x65])], // wide
    ...["vp8-vorbis.ogv", "sound.mp3", "sound.wav", "sound.flac", "sound.aac"].map(readClip),
  ];
  const { url, secretKey } = inject("stack");
  const { storage } = createClient(url, secretKey);
  const bucket = storage.from("keyframe-outputs");
  const browser = await launchBrowser();
  const types = new Set<string>();
  const names: string[] = [];
  try {
    const page = await browser.newPage();
    for (const bytes of [...frames, ...moving, ...videos]) {
      const copy = await createCheckedCopy(
        (async function* () {
          yield bytes;
        })(),
      );
      const body = new Uint8Array(await new Response(copy.body).arrayBuffer());
      const name = `${crypto.randomUUID()}.${MEDIA_EXTENSIONS[copy.type]}`;
      expect(await bucket.upload(name, body, { contentType: copy.type })).toMatchObject({ error: null });
      names.push(name);
      const { data } = await bucket.createSignedUrl(name, 60);
      const facts = copy.result();
      const isImage = frames.includes(bytes) || moving.includes(bytes);
      const shown = await page.evaluate(`(${SHOW})(${JSON.stringify(data?.signedUrl)}, ${isImage})`);
      // What the readers do not tell, any number: it is shown or played all the same.
      const known = (value: number | null | undefined) => (value === null ? expect.any(Number) : value);
      const seconds = facts?.durationSeconds ? expect.closeTo(facts.durationSeconds, 1) : expect.any(Number);
      expect([copy.type, shown]).toEqual([
        copy.type,
        [known(facts?.width), known(facts?.height), isImage ? null : seconds],
      ]);
      types.add(copy.type);
    }
  } finally {
    await browser.close();
    await bucket.remove(names);
  }
  expect([...types].sort()).toEqual(Object.keys(MEDIA_EXTENSIONS).sort());
});

import { Buffer } from "node:buffer";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Page } from "playwright-core";
import { safeFileName } from "../../../client/film.ts";
import { detectMedia } from "../../../shared/media/media.ts";
import { bundle } from "../../support/client/bundle.ts";
import { openApp } from "../../support/client/open-app.ts";
import { patched, readClip } from "../../support/media/clips.ts";
import { ODD_IMAGES, ODD_VIDEOS } from "../../support/media/odd-files.ts";

let app: Awaited<ReturnType<typeof openApp>>;
let page: Page;
beforeAll(async () => {
  const text = `import * as media from "mediabunny";
    import { joinFilm, lastFrameOf, zipFilm } from "../client/film.ts";
    Object.assign(globalThis, media, { joinFilm, lastFrameOf, zipFilm });`;
  app = await openApp(await bundle("test/join-film-page.ts", { text }));
  page = app.page;
  await page.addScriptTag({ content: PAGE });
});
/** Loads the module again after a test that took something away from it: mediabunny remembers which encoders there are. */
async function openPage(): Promise<void> {
  await page.goto(app.origin);
  await page.addScriptTag({ content: PAGE });
}
afterAll(() => app?.close());

/** In the page: a video of a second with a tone in so many channels, and what is heard of a joined film. */
const PAGE = `
async function makeShot(channels) {
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat(), target });
  const canvas = new OffscreenCanvas(128, 320);
  canvas.getContext("2d").fillRect(0, 0, 128, 320);
  const video = new CanvasSource(canvas, { codec: "avc", bitrate: 100_000 });
  const sound = new AudioBufferSource({ codec: "opus", bitrate: 64_000 });
  output.addVideoTrack(video);
  if (channels) output.addAudioTrack(sound);
  await output.start();
  for (let frame = 0; frame < 10; frame++) await video.add(frame / 10, 0.1);
  if (channels) {
    const tone = new AudioBuffer({ numberOfChannels: channels, sampleRate: 48_000, length: 48_000 });
    for (let at = 0; at < channels; at++) tone.copyToChannel(Float32Array.from({ length: 48_000 }, (_, x) => Math.sin(x / 17)), at);
    await sound.add(tone);
  }
  await output.finalize();
  return new Blob([target.buffer]);
}
async function makeTurned(format, shown, from = 0) {
  const target = new BufferTarget();
  const output = new Output({ format: new { MP4: Mp4OutputFormat, Matroska: MkvOutputFormat }[format](), target });
  const canvas = new OffscreenCanvas(320, 180);
  const context = canvas.getContext("2d");
  context.fillRect(0, 0, 320, 180);
  context.fillStyle = "white";
  const video = new CanvasSource(canvas, { codec: "avc", bitrate: 1_000_000 });
  output.addVideoTrack(video, shown);
  await output.start();
  for (let frame = 0; frame < 5; frame++) {
    if (frame === from) context.fillRect(0, 0, 160, 90);
    await video.add(frame / 10, 0.1);
  }
  await output.finalize();
  return new Blob([target.buffer]);
}
const inputOf = (film) => new Input({ source: new BlobSource(film), formats: [MP4] });
const videoOf = (film) => inputOf(film).getPrimaryVideoTrack();
const lengthOf = async (film) => (await videoOf(await film)).computeDuration();
/** Its sides, and the corner that is white. */
async function look(film) {
  const track = await videoOf(film);
  const { value } = await new CanvasSink(track, { width: 4, height: 4, fit: "fill" }).canvases().next();
  return [await track.getDisplayWidth(), await track.getDisplayHeight(), ...whiteCorners(value.canvas)];
}
async function lookAtEnd(video, hasCanvas) {
  const file = await video;
  if (!hasCanvas) OffscreenCanvas = undefined;
  const image = await lastFrameOf(file);
  const bitmap = await createImageBitmap(image);
  const canvas = Object.assign(document.createElement("canvas"), { width: 4, height: 4 });
  canvas.getContext("2d").drawImage(bitmap, 0, 0, 4, 4);
  return [image.type, bitmap.width, bitmap.height, ...whiteCorners(canvas)];
}
function whiteCorners(canvas) {
  const context = canvas.getContext("2d");
  const corners = { "upper left": [0, 0], "upper right": [3, 0], "lower left": [0, 3], "lower right": [3, 3] };
  return Object.keys(corners).filter((name) => context.getImageData(...corners[name], 1, 1).data[0] > 128);
}
const timesOf = async (film) =>
  (await Array.fromAsync(new EncodedPacketSink(await videoOf(film)).packets())).map(({ timestamp }) => timestamp);
/** A film with these videos; null: the shot has none. */
const filmOf = (outputs) => ({ shots: outputs.map((output) => ({ title: output ? "Shot" : "None", takes: { video: output && { output } } })) });
const outputOf = (file, at) => ({ path: at + (file.type === "video/webm" ? ".webm" : ".mp4"), url: URL.createObjectURL(file), width: 321, height: 180, hasAudio: true, sha256: at + "f" });
const join = async (shots, options, make = joinFilm) => await make(filmOf((await Promise.all(shots)).map(outputOf)), options);
const command = async (shots) => /^ffmpeg .*$/m.exec(await (await join(shots, {}, zipFilm)).text())[0];
const refusal = (shots, options) => join(shots, options).then(() => "joined", ({ code, message }) => [code, message]);
/** Its sides, its packets, and in seconds: its length, and when each flash is seen and each beep is heard. */
async function measure(film) {
  const input = inputOf(film);
  const [video, audio] = [await input.getPrimaryVideoTrack(), await input.getPrimaryAudioTrack()];
  const count = async (track) => (await Array.fromAsync(new EncodedPacketSink(track).packets())).length;
  const begins = (moments) => moments.filter(([, isOn], at) => isOn && !moments[at - 1]?.[1]).map(([second]) => second);
  const pictures = [];
  for await (const { canvas, timestamp } of new CanvasSink(video, { width: 16, height: 16, fit: "fill" }).canvases()) {
    const { data } = canvas.getContext("2d").getImageData(7, 7, 2, 2); // within the bars of a picture of another shape
    pictures.push([timestamp, data.reduce((sum, one) => sum + one) / data.length > 220]);
  }
  const sound = await new OfflineAudioContext(1, 1, 48_000).decodeAudioData(await film.arrayBuffer());
  const [samples, parts] = [sound.getChannelData(0), []];
  for (let at = 0; at < samples.length; at += 240) parts.push([at / 48_000, samples.slice(at, at + 240).some((one) => Math.abs(one) > 0.05)]);
  return {
    codec: await video.getCodec(),
    size: [await video.getDisplayWidth(), await video.getDisplayHeight()],
    packets: [await count(video), await count(audio)],
    tracks: (await input.getTracks()).length,
    seconds: await video.computeDuration(),
    soundSeconds: await audio?.computeDuration(),
    flashes: begins(pictures),
    beeps: begins(parts),
  };
}
/** How a player shows it: its sides, and the color at its end; at its end also its length, and whether it has played sound. */
async function play(file, untilEnd = true) {
  const video = Object.assign(document.createElement("video"), { src: URL.createObjectURL(file), playbackRate: 16, volume: 0.01 });
  await new Promise((resolve, reject) => {
    Object.assign(video, { [untilEnd ? "onended" : "onloadeddata"]: resolve, onerror: () => reject(new Error(video.error.message)) });
    if (untilEnd) video.play().catch(() => undefined);
  });
  // On a busy machine a player leaves out pictures, the last one too: a seek shows it.
  if (untilEnd) await new Promise((resolve) => Object.assign(video, { onseeked: resolve, currentTime: video.currentTime - 0.001 }));
  return { size: [video.videoWidth, video.videoHeight], seconds: video.duration, hasAudio: video.webkitAudioDecodedByteCount > 0, color: colorOf(video) };
}
function colorOf(picture) {
  const context = new OffscreenCanvas(3, 3).getContext("2d");
  context.drawImage(picture, 0, 0, 3, 3);
  return [...context.getImageData(1, 1, 1, 1).data.slice(0, 3)];
}
const endOf = async (file) => {
  const bitmap = await createImageBitmap(await lastFrameOf(file));
  return { size: [bitmap.width, bitmap.height], color: colorOf(bitmap) };
};
const show = async (file) => {
  const image = Object.assign(new Image(), { src: URL.createObjectURL(file) });
  return await image.decode().then(() => [image.naturalWidth, image.naturalHeight], () => "unusable");
};
/** Where the film has a bright picture at that second: left, top, width and height. */
async function brightAt(film, second) {
  const { canvas } = await new CanvasSink(await videoOf(film)).getCanvas(second);
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const [xs, ys] = [new Set(), new Set()];
  for (let at = 0; at < data.length; at += 4) if (data[at] > 128) (xs.add((at / 4) % canvas.width), ys.add(Math.floor(at / 4 / canvas.width)));
  return [Math.min(...xs), Math.min(...ys), xs.size, ys.size];
}
async function hear(shots) {
  const film = await join(shots.map(makeShot));
  const sound = await new OfflineAudioContext(1, 1, 48_000).decodeAudioData(await film.arrayBuffer());
  const [samples, heard] = [sound.getChannelData(0), []];
  for (let at = 0; at + 4_800 <= samples.length; at += 4_800) heard.push(samples.slice(at, at + 4_800).some((one) => Math.abs(one) > 0.5));
  // The edges of a tone are within 0.1 s of the shot's.
  return Array.from({ length: Math.round(sound.duration) }, (_, second) => heard.slice(second * 10 + 1, second * 10 + 9)).map((tenths) =>
    tenths.every(Boolean) ? "tone" : tenths.some(Boolean) ? "part" : "silence",
  );
}
`;

test.each([
  ["the same sound, and none between → copied", [2, 0, 2]],
  ["none first, then sounds of other channels → encoded again", [0, 1, 2, 0]],
])("shots with %s; each sound is heard in its own shot", async (_, shots) => {
  const heard = await page.evaluate(`hear(${JSON.stringify(shots)})`);
  expect(heard).toEqual(shots.map((channels) => (channels > 0 ? "tone" : "silence")));
});

test("a joined film → has XMP in a box at its end that AI made it, with each shot's SHA-256 in order", async () => {
  for (const inFile of [false, true]) {
    const bytes = await page.evaluate<number[]>(`(async () => {
      const file = await (await navigator.storage.getDirectory()).getFileHandle("film.mp4", { create: true });
      const film = await join([1, 0, 2].map(makeShot), ${inFile} ? { file } : {});
      return [...new Uint8Array(await film.arrayBuffer())];
    })()`);
    const film = Buffer.from(bytes);
    const boxes: [type: string, content: Buffer][] = [];
    for (let at = 0; at < film.length; at += film.readUInt32BE(at) || film.length)
      boxes.push([film.toString("latin1", at + 4, at + 8), film.subarray(at + 8, at + film.readUInt32BE(at))]);
    const [type, content] = boxes.at(-1) ?? [];
    expect([type, content?.toString("hex", 0, 16)]).toEqual(["uuid", "be7acfcb97a942e89c71999491e3afac"]);
    const xmp = await page.evaluate<string[]>(`(() => {
      const xml = new DOMParser().parseFromString(${JSON.stringify(content?.toString("utf8", 16))}, "text/xml");
      const about = xml.getElementsByTagName("rdf:Description")[0];
      return [about, ...about.getElementsByTagName("rdf:li")].map((one) => [...one.attributes].map(({ name, value }) => name + " " + value).join());
    })()`);
    const made = "http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia";
    const [about, ...shots] = xmp;
    expect(about).toBe(`rdf:about ,Iptc4xmpExt:DigitalSourceType ${made}`);
    expect(shots).toEqual([0, 1, 2].map((at) => `stRef:instanceID sha256:${at}f`));
    expect(detectMedia(new Uint8Array(film))).toBe("video/mp4");
  }
});

const clip = (bytes: Uint8Array<ArrayBuffer>) =>
  `new Blob([new Uint8Array([${bytes}])], { type: "${detectMedia(bytes)}" })`;
/** In fragments, and mediabunny throws where it reads the format of the sound. */
const WITHOUT_SOUND_FORMAT = patched(readClip("fragments-after-movie.mp4"), "esds", 8, [0]);
const measure = (clips: Uint8Array<ArrayBuffer>[]) => page.evaluate<object>(`join([${clips.map(clip)}]).then(measure)`);
/** At these seconds, within a packet of sound. */
const near = (moments: number[]) => moments.map((one) => expect.closeTo(one, 1.6));

test.each<[what: string, clips: string[], expected: object]>([
  ["a first packet of sound that is longer", ["first-packet-longer.mp4"], { packets: [72, 142] }],
  ["quicktime.mov", ["quicktime.mov"], { packets: [72, 142] }],
  ["a QuickTime file without a brand", ["no-brand.mov"], { packets: [72, 142] }],
  ["WebM → copied", ["vp9-opus.webm", "vp9-opus.webm"], { packets: [144, expect.any(Number)] }],
  ["WebM of VP8, rare in an MP4 → encoded again", ["vp8-vorbis.webm"], { codec: expect.not.stringMatching("vp8") }],
  ["MP4, WebM and Matroska → encoded again", ["plain.mp4", "vp9-opus.webm", "h264.mkv"], {}],
  ["fragments", ["fragments.mp4"], { packets: [72, 142] }],
  ["fragments with an index", ["fragments-indexed.mp4"], { packets: [72, 142] }],
  ["fragments behind a part in the header", ["fragments-after-movie.mp4"], { packets: [72, 142] }],
  ["pixels that are not square", ["pixels-wide.mp4"], { size: [427, 180] }],
  ["pixels that are not square, and turned", ["turned-pixels-wide.mp4"], { size: [180, 426] }],
  ["sound that begins 0.5 s late", ["sound-late.mp4"], { beeps: [1.5] }],
  [
    "late sounds of different rates and channels → encoded again",
    ["sound-late.mp4", "sound-44100-mono-late.mp4", "plain.mp4"],
    { beeps: [1.5, 4.5, 7] },
  ],
  ["other codecs → encoded again", ["plain.mp4", "av1.mp4", "vp9-opus.mp4"], {}],
  ["different pictures in a second → copied", ["plain.mp4", "fps-30.mp4"], {}],
])("%s → a film with all frames and sound, each flash and each beep at its second", async (_, clips, expected) => {
  const ones = clips.map((_clip, at) => 3 * at + 1);
  const made = await measure(clips.map(readClip));
  const { beeps = ones, ...exact } = Object(expected);
  expect(made).toMatchObject({
    ...exact,
    flashes: near(ones),
    beeps: near(beeps),
    seconds: expect.closeTo(3 * clips.length, 1),
  });
});

test("rare but valid files → shown by the browser, ended and joined in the same size", async () => {
  const wrong: unknown[] = [];
  for (const [what, bytes, shown] of ODD_IMAGES) {
    const seen = await page.evaluate(`show(${clip(bytes)})`);
    if (String(seen) !== String(shown)) wrong.push([what, shown, seen]);
  }
  for (const [what, bytes, [width, height, seconds, hasAudio]] of ODD_VIDEOS) {
    const ways = await page.evaluate<{ size: number[]; seconds: number; hasAudio: boolean }[]>(
      `(async (file) => [await play(file, ${seconds !== undefined}), await endOf(file), await play(await join([file]), false)])(${clip(bytes)})`,
    );
    const sizes = ways.flatMap(({ size }) => size);
    // A player rounds down where the stream itself has the shape of its pixels.
    if (!sizes.every((side, at) => Math.abs(side - (at % 2 === 0 ? width : height)) <= 1))
      wrong.push([what, width, height, ways]);
    const [played] = ways;
    if (seconds !== undefined && !(Math.abs((played?.seconds ?? 0) - seconds) < 0.1))
      wrong.push([what, seconds, played]);
    if (hasAudio !== undefined && played?.hasAudio !== hasAudio) wrong.push([what, hasAudio, played]);
  }
  expect(wrong.map((one) => JSON.stringify(one))).toEqual([]);
});

test.each(["color.mp4", "color-hd.mp4", "color-vp8.webm", "color-vp9.webm", "color-av1.mp4"])(
  "%s, which does not state its colors → its last frame and the film have the color that a player shows",
  async (name) => {
    const shots = [name, name, "turned.mp4"].map((one) => clip(readClip(one)));
    const shown = await page.evaluate<{ color: number[] }>(`play(${shots[0]})`);
    const color = shown.color.map((one) => expect.closeTo(one, -0.9)); // within 4 of 255
    expect(await page.evaluate(`endOf(${shots[0]})`)).toMatchObject({ color });
    expect(await page.evaluate(`join([${shots.slice(0, 2)}]).then((film) => play(film))`)).toMatchObject({ color });
    // Encoded again, because of one that is turned.
    expect(await page.evaluate(`join([${shots.toReversed()}]).then((film) => play(film))`)).toMatchObject({ color });
  },
);

test.each<[what: string, shots: string[], place: number[]]>([
  ["turned by a quarter", ["plain.mp4", "turned.mp4"], [109, 0, 101, 180]],
  ["with wider pixels", ["plain.mp4", "pixels-wide.mp4"], [0, 22, 320, 135]],
])(
  "a second shot that is %s, encoded in the first one's size → keeps its shape between bars",
  async (_, shots, place) => {
    const films = `join([${shots.map((name) => clip(readClip(name)))}])`;
    const found = await page.evaluate<number[]>(`${films}.then((film) => brightAt(film, 4.02))`);
    expect(found).toEqual(place.map((one) => expect.closeTo(one, -0.7))); // within 2
  },
);

test.each<[shots: string[], seconds: number, pictures: number, soundSeconds: number | undefined]>([
  [["two-a-second.webm", "two-a-second.webm"], 4, 8, undefined],
  [["one-picture.webm", "one-picture.webm"], 1, 2, undefined],
  [["one-picture-sound.webm", "one-picture-sound.webm"], 1, 2, 1],
  [["one-picture-sound.webm", "plain.mp4"], 3.5, 73, 3.5],
])(
  "%j, without the length of their last frame → a film of %i s, no two frames at one time",
  async (shots, ...expected) => {
    const [film, times] = await page.evaluate<[{ seconds: number; soundSeconds?: number }, number[]]>(
      `join([${shots.map((name) => clip(readClip(name)))}]).then(async (film) => [await play(film), await timesOf(film)])`,
    );
    expect(film).toMatchObject({ seconds: expect.closeTo(expected[0], 1), hasAudio: expected[2] !== undefined });
    expect([times.length, new Set(times).size]).toEqual([expected[1], expected[1]]);
  },
);

test("a rough cut of shots of which one has no video → the others, under their own numbers; without any video → refused", async () => {
  const told = await page.evaluate<
    [number[], string, string]
  >(`Promise.all([makeShot(1), makeShot(1), new Blob(["no video"])]).then(async (files) => {
    const [one, two, broken] = files.map(outputOf);
    const seen = [];
    const options = { isRoughCut: true, onProgress: ({ shot, shots }) => seen.push(shot, shots) };
    await joinFilm(filmOf([one, null, two]), options);
    const reasonOf = (outputs) => joinFilm(filmOf(outputs), { isRoughCut: true }).catch(({ message }) => message);
    return [seen, await reasonOf([one, null, broken]), await reasonOf([null])];
  })`);
  expect(new Set(told[0])).toEqual(new Set([1, 2]));
  expect(told.slice(1)).toEqual([
    expect.stringContaining("shot 3, “Shot”, is not a video that it can read"),
    "No video yet: shot 1, “None”. Generate it, or remove the shot from the film.",
  ]);
});

test("ten shots to download → four at once, with progress of how many are done", async () => {
  let waiting: (() => void)[] = [];
  let asked = 0;
  const most: number[] = [];
  await page.route("**/shots/*", async (route) => {
    asked += 1;
    const isFull = new Promise<void>((resolve) => waiting.push(resolve));
    if (waiting.length === 4 || asked === 10) {
      most.push(waiting.length);
      for (const go of waiting) go();
      waiting = [];
    }
    await isFull;
    await route.fulfill({ contentType: "video/webm", body: Buffer.from(readClip("one-picture.webm")) });
  });
  const told = await page.evaluate<number[]>(`(async () => {
    const outputs = Array.from({ length: 10 }, (_, at) => ({ path: at + ".webm", url: "/shots/" + at, sha256: "f" }));
    const told = [];
    await joinFilm(filmOf(outputs), { onProgress: ({ doing, shot }) => doing === "downloading" && told.push(shot) });
    return told;
  })()`);
  expect([most, told]).toEqual([
    [4, 4, 2],
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  ]);
});

test("a join is canceled while its file accepts no more bytes → rejects with the reason at once", async () => {
  const stuck = `({ createWritable: async () => ({ write: () => new Promise(() => stopped.abort(new Error("Stopped."))), abort: async () => undefined }) })`;
  const told = `const stopped = new AbortController(); refusal([makeShot(1)], { file: ${stuck}, signal: stopped.signal })`;
  expect(await page.evaluate(told)).toEqual([undefined, "Stopped."]);
});

test("clips of different sizes, rotations and codecs, one without sound → two tracks, the first's size, their total length", async () => {
  const kinds = ["plain.mp4", "turned.mp4", "pixels-wide.mp4", "av1.mp4", "vp9-opus.mp4"].map((name) =>
    clip(readClip(name)),
  );
  const shots = `[${[...kinds, "makeShot(0)", clip(readClip("plain.mp4"))]}]`;
  const lengths = await page.evaluate<number[]>(`Promise.all(${shots}.map(lengthOf))`);
  const together = expect.closeTo(
    lengths.reduce((sum, one) => sum + one),
    1,
  );
  const moments = near([1, 4, 7, 10, 13, 17]);
  expect(await page.evaluate<object>(`join(${shots}).then(measure)`)).toMatchObject({
    ...{ tracks: 2, size: [320, 180], seconds: together, soundSeconds: together },
    ...{ flashes: moments, beeps: moments },
  });
});

const TURNS: [format: string, shown: object, look: unknown[]][] = [
  ["MP4", { rotation: 90 }, [180, 320, "upper right"]],
  ["MP4", { rotation: 180 }, [320, 180, "lower right"]],
  ["MP4", { rotation: 270 }, [180, 320, "lower left"]],
  ["MP4", { flip: true }, [320, 180, "upper right"]],
  ["MP4", { rotation: 90, flip: true }, [180, 320, "upper left"]],
  ["Matroska", { rotation: 90 }, [180, 320, "upper right"]],
  ["Matroska", { flip: true }, [320, 180, "upper right"]],
];
test.each(TURNS)(
  "shots in %s with %j → look in the film as a player shows each of them",
  async (format, shown, looks) => {
    const shot = `makeTurned("${format}", ${JSON.stringify(shown)})`;
    expect(await page.evaluate(`join([${shot}, ${shot}]).then(look)`)).toEqual(looks);
  },
);

describe.each([
  ["of a browser with a canvas", true],
  ["without a canvas, as in Deno", false],
])("the last frame, %s", (_what, hasCanvas) => {
  if (!hasCanvas) afterEach(openPage);
  const lookAtEnd = (video: string) => page.evaluate<unknown[]>(`lookAtEnd(${video}, ${hasCanvas})`);

  test.each(TURNS)(
    "the last frame of a video in %s with %j whose last picture differs → that picture, as a player shows it",
    async (format, shown, looks) => {
      const video = `makeTurned("${format}", ${JSON.stringify(shown)}, 4)`;
      expect(await lookAtEnd(video)).toEqual(["image/png", ...looks]);
    },
  );

  test.each([
    ["vp9-opus.webm", 320, 180],
    ["fragments-after-movie.mp4", 320, 180],
    ["no-brand.mov", 320, 180],
    ["turned-pixels-wide.mp4", 180, 427],
  ])("the last frame of %s → a picture of its shown size", async (name, width, height) => {
    expect((await lookAtEnd(clip(readClip(name)))).slice(0, 3)).toEqual(["image/png", width, height]);
  });
});

test("the last frame of a file that is not a video, or of an animation → cannot_read", async () => {
  for (const file of [`new Blob(["no video"])`, clip(readClip("moving.gif")), clip(WITHOUT_SOUND_FORMAT)]) {
    const ends = page.evaluate(`lastFrameOf(${file}).then(() => "an image", ({ code }) => code)`);
    expect(await ends).toBe("cannot_read");
  }
});

test.each([
  ["longer, before the pictures begin", [0, 0, 15, 160], 0],
  ["shorter, so that all the sound comes earlier", [0, 0, 2, 0], (512 - 4000) / 48_000],
  ["longer than the pictures' delay, so that all the sound comes later", [0, 0, 35, 40], 5000 / 48_000],
])(
  "three shots whose first packet of sound is %s → three beeps in sync; at most half a packet is lost at a join",
  async (_, duration, late) => {
    const shot = readClip("first-packet-longer.mp4");
    shot.set(duration, soundDurations(shot)); // 4000 of 48,000 in a second
    const { packets, beeps, flashes, seconds } = Object(await measure([shot, shot, shot]));
    const before = late < 0 ? 4 : 1; // the pictures'
    expect(packets).toEqual([
      216,
      expect.toSatisfy((count: number) => count >= 3 * (142 - (late > 0 ? 5 : 0)) - 2 * before - 1),
    ]);
    expect([flashes, seconds]).toEqual([near([1, 4, 7]), expect.closeTo(9, 1)]);
    expect(beeps).toEqual(near([1 + late, 4 + late, 7 + late]));
  },
);

const COPIED = "ffmpeg -f concat -safe 0 -i list.txt -c copy film.mp4";
// Tried with ffmpeg 5.1: each has a flash and a beep for each shot. Copied, it ends with 0 and has none of the second shot.
test.each([
  ["the same", ["plain.mp4", "plain.mp4"], null],
  ["the same in a QuickTime file", ["plain.mp4", "quicktime.mov"], null],
  ["the same in another WebM", ["vp9-opus.webm", "vp9-opus.webm"], null],
  ["VP8, which ffmpeg does not write into an MP4", ["vp8-vorbis.webm", "vp8-vorbis.webm"], `"02-Shot.webm"`],
  ["another codec", ["plain.mp4", "hevc.mp4"], "fps=24,"],
  ["a WebM", ["plain.mp4", "vp9-opus.webm"], `"02-Shot.webm"`],
  ["another codec of sound, too", ["plain.mp4", "vp9-opus.mp4"], "fps=24,"],
  [
    "another rate, one channel",
    ["sound-late.mp4", "sound-44100-mono-late.mp4"],
    "aresample=48000:async=1:first_pts=0,",
  ],
  ["more pictures in a second", ["plain.mp4", "fps-30.mp4"], "fps=30,"],
  ["a turn", ["plain.mp4", "turned.mp4"], "scale=320:180:"],
  ["wider pixels", ["plain.mp4", "pixels-wide.mp4"], "scale=iw*sar:ih,"],
])(
  "a zip of a shot and one with %s → its command copies what matches, and re-encodes the rest",
  async (_, clips, part) => {
    const told = await page.evaluate<string>(`command([${clips.map((name) => clip(readClip(name)))}])`);
    if (part === null) expect(told).toBe(COPIED);
    else
      expect(told).toMatch(/^ffmpeg -i "01-Shot\.(mp4|webm)" -i "02-Shot\.(mp4|webm)" -filter_complex .* film\.mp4$/);
    expect(told).toContain(part ?? "-c copy");
  },
);

/** Where the first duration of its sound stands, in the track's second table of durations. */
function soundDurations(bytes: Uint8Array<ArrayBuffer>): number {
  const letters = String.fromCharCode(...bytes);
  return letters.indexOf("stts", letters.indexOf("soun")) + 16;
}

const reason = (words: string) => [
  "cannot_join",
  `This browser cannot join the shots: ${words}. Download the zip of the shots instead.`,
];

test("no shots, no video, no encoder, too large, aborted, a full file → each ends with its code and sentence", async () => {
  onTestFinished(openPage);
  const refused = (text: string) => page.evaluate<[string, string]>(`refusal(${text})`);
  expect(await refused("[]")).toEqual(["video_missing", "This film has no shots yet."]);
  const unreadable = [readClip("moving.gif"), readClip("vp8-vorbis.ogv"), WITHOUT_SOUND_FORMAT];
  for (const shot of [`new Blob(["no video"])`, ...unreadable.map(clip)])
    expect(await refused(`[makeShot(1), ${shot}]`)).toEqual(reason("shot 2, “Shot”, is not a video that it can read"));
  const [code] = await refused(`[makeShot(1)], { downloads: new Map([["0.mp4", { size: 1_000_000_001 }]]) }`);
  expect(code).toBe("too_large");
  const stopAtSecond = `const stopped = new AbortController();
    const onProgress = ({ doing, shot }) => doing === "joining" && shot === 2 && stopped.abort(new Error("Stopped."));
    refusal([makeShot(2), makeShot(2)], { onProgress, signal: stopped.signal });`;
  expect(await page.evaluate(stopAtSecond)).toEqual([undefined, "Stopped."]);
  const full = `({ write: async () => { throw new Error("The disk is full."); }, abort: async () => undefined })`;
  expect(await refused(`[makeShot(1)], { file: { createWritable: async () => ${full} } }`)).toEqual([
    undefined,
    "The disk is full.",
  ]);
  const unlike = `Promise.all([makeShot(1), makeShot(2)]).then((made) => ((AudioEncoder = undefined), refusal(made)))`;
  expect(await page.evaluate(unlike)).toEqual(reason("their sound differs, and it has no encoder for sound"));
});

test("sound that the browser cannot decode → an error that names the shot", async () => {
  const unknown = `Promise.all([makeShot(2), makeShot(1).then((made) => made.bytes())]).then(([shot, bytes]) => {
    bytes.forEach((_, at) => [79, 112, 117, 115].every((one, more) => bytes[at + more] === one) && (bytes[at] = 88)); // Opus is Xpus
    return refusal([shot, new Blob([bytes])]);
  })`;
  expect(await page.evaluate(unknown)).toEqual(reason("it cannot play the sound of shot 2, “Shot”"));
});

test("a title as a file name → without what file systems reserve; a long one ends at a whole word if it can", () => {
  expect(safeFileName('It\'s "wide": 16/9')).toBe("It s wide 16 9");
  const long = safeFileName(
    "The boat leaves the harbour at dawn while the fog is lifting over the old lighthouse keeper",
  );
  expect(long).toBe("The boat leaves the harbour at dawn while the fog is lifting over the old");
  expect(safeFileName(`${"a".repeat(79)} b`)).toBe("a".repeat(79));
  expect(safeFileName("a".repeat(100))).toBe("a".repeat(80));
  expect(safeFileName("...")).toBe("Untitled");
});

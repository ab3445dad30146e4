import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Browser, Page } from "playwright-core";
import { safeFileName } from "../../client/film.ts";
import { launchBrowser } from "../../tools/demo/browser.ts";
import { bundle } from "../support/client/bundle.ts";

// Shots whose sound can be heard, which the simulator's cannot: made and joined in a browser.

let browser: Browser;
let page: Page;
beforeAll(async () => {
  const code = await bundle("test/join-film-page.ts", {
    text: `export * from "mediabunny"; export { joinFilm } from "../client/film.ts";`,
  });
  browser = await launchBrowser();
  page = await browser.newPage();
  // A page of its own origin, where decoders and encoders are.
  await page.route("http://127.0.0.1/**", (route) =>
    route.request().url().endsWith(".js")
      ? route.fulfill({ contentType: "text/javascript", body: code })
      : route.fulfill({ contentType: "text/html", body: "<!doctype html>" }),
  );
}, 60_000);
// Each test has a page of its own: mediabunny remembers which encoders there are.
beforeEach(async () => {
  await page.goto("http://127.0.0.1/");
  await page.evaluate(`import("/film.js").then((film) => void Object.assign(globalThis, film))`);
  await page.addScriptTag({ content: PAGE });
});
afterAll(() => browser?.close());

/** In the page: a video of a second with a tone in so many channels, and what is heard of a joined film. */
const PAGE = `
async function makeShot(channels) {
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat(), target });
  const canvas = new OffscreenCanvas(64, 64);
  canvas.getContext("2d").fillRect(0, 0, 32, 32);
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
async function join(shots, options) {
  const files = await Promise.all(shots);
  const output = (path) => ({ path: String(path), url: URL.createObjectURL(files[path]) });
  return await joinFilm({ shots: files.map((_, at) => ({ title: "Shot", takes: { video: { output: output(at) } } })) }, options);
}
const refusal = (shots, options) => join(shots, options).then(() => "joined", ({ code, message }) => [code, message]);
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

const reason = (words: string) => [
  "cannot_join",
  `This browser cannot join the shots: ${words}. Download the zip of the shots instead.`,
];

test("no shots, no MP4, no encoder for shots that differ, more than memory holds, stopped while it writes, a file that takes no more → each ends with its code and its sentence", async () => {
  const refused = (text: string) => page.evaluate<[string, string]>(`refusal(${text})`);
  expect(await refused("[]")).toEqual(["video_missing", "This film has no shots yet."]);
  expect(await refused(`[makeShot(1), new Blob(["no video"])]`)).toEqual(reason("shot 2 is no MP4 that it can read"));
  const [code] = await refused(`[makeShot(1)], { downloads: new Map([["0", { size: 1_000_000_001 }]]) }`);
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

test("sound that the browser cannot play → told which shot has it", async () => {
  const unknown = `Promise.all([makeShot(2), makeShot(1).then((made) => made.bytes())]).then(([shot, bytes]) => {
    bytes.forEach((_, at) => [79, 112, 117, 115].every((one, more) => bytes[at + more] === one) && (bytes[at] = 88)); // Opus is Xpus
    return refusal([shot, new Blob([bytes])]);
  })`;
  expect(await page.evaluate(unknown)).toEqual(reason("it cannot play the sound of shot 2"));
});

test("a title as a file name → without what means something to a file system; a long one ends with a whole word, unless it is one", () => {
  expect(safeFileName('It\'s "wide": 16/9')).toBe("It s wide 16 9");
  const long = safeFileName(
    "The boat leaves the harbour at dawn while the fog is lifting over the old lighthouse keeper",
  );
  expect(long).toBe("The boat leaves the harbour at dawn while the fog is lifting over the old");
  expect(safeFileName(`${"a".repeat(79)} b`)).toBe("a".repeat(79));
  expect(safeFileName("a".repeat(100))).toBe("a".repeat(80));
  expect(safeFileName("...")).toBe("Untitled");
});

import { createHash } from "node:crypto";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { DatabaseError } from "../../../shared/platform/call-database.ts";
import { readOutput } from "../../../supabase/functions/keyframe-generate/files/open-output.ts";
import { store } from "../../../supabase/functions/keyframe-generate/tasks/store.ts";
import type { StoreTask } from "../../../supabase/functions/keyframe-generate/tasks/task.ts";
import { readClip } from "../../support/media/clips.ts";
import { drawPhoto, manifestStore, withLocation, withManifest } from "../../support/media/photos.ts";
import { receive } from "../../support/receiver/raw-receiver.ts";
import * as kit from "./fixture.ts";

// Faults of the provider's file server and of Storage. Frames and videos that are well: test/e2e/film. Which addresses may be
// fetched: test/security/addresses.

const NAME = `${kit.OWNER}/${kit.PROJECT}/${kit.PREDICTION}`;
let storage: kit.StorageServer;
beforeEach(async () => {
  storage = await kit.startStorage();
});
afterEach(() => storage.stop());

type Options = Parameters<typeof kit.makeDeps>[0] & { task?: Partial<StoreTask> };

async function run(url: string, { task = {}, ...options }: Options = {}, signal = kit.never()) {
  const outputHosts = new URL(url).origin;
  const made = kit.makeDeps({ storageUrl: storage.url, outputHosts, ...options });
  const done = store(kit.storeTask(url, task), made.deps, signal);
  return { ...made, error: await done.catch((error: unknown) => error) };
}

function answering(handler: (request: Request) => Response | Promise<Response>): string {
  return `${kit.serve(handler)}/out.png`;
}
const image = () => new Response(kit.PNG);

const later = (code: string) => ["retryPrediction", expect.objectContaining({ code })];
/** Only of an output that is too large a further run is not worth its price. */
const failed = (code: string) => [
  "fail",
  expect.objectContaining({ code }),
  { retryable: code !== "output_too_large" },
];

const video = (content_type: string) => ({
  ...{ content_type, width: 320, height: 180, duration_seconds: expect.closeTo(3, 1), has_audio: true },
});
const signed = withManifest("jpeg", await drawPhoto("jpeg"), manifestStore("trainedAlgorithmicMedia"));
const letters = new TextEncoder().encode("made by a camera");
type Stored = [what: string, bytes: Uint8Array<ArrayBuffer>, ending: string, facts: object, step: StoreTask["step"]];

// What is read of each: test/unit/media/media.test.ts.
test.each<[...Stored, note?: string]>([
  ["a PNG", kit.PNG, "png", { content_type: "image/png", width: 1, height: 1, has_audio: null }, "first-frame"],
  ["a JPEG with metadata", withLocation("jpeg", signed, 1), "jpg", { content_type: "image/jpeg" }, "first-frame"],
  ["a WebM", readClip("vp9-opus.webm"), "webm", video("video/webm"), "video"],
  ["a Matroska file", readClip("h264.mkv"), "mkv", video("video/x-matroska"), "video"],
  ["a QuickTime file without a brand", readClip("no-brand.mov"), "mp4", video("video/mp4"), "video"],
  ["an Ogg file", readClip("vp8-vorbis.ogv"), "ogv", { content_type: "video/ogg", duration_seconds: null }, "video"],
  ["an MP3", readClip("sound.mp3"), "mp3", { content_type: "audio/mpeg", width: null, has_audio: true }, "video"],
  ["a GIF as a video", readClip("moving.gif"), "gif", { content_type: "image/gif", width: 320 }, "video"],
  ["a video as a frame", readClip("plain.mp4"), "mp4", video("video/mp4"), "first-frame"],
  ["a PNG that is cut off", kit.PNG.subarray(0, -8), "png", { content_type: "image/png" }, "first-frame", "odd_end"],
  [
    "a video with letters behind its end",
    new Uint8Array([...readClip("plain.mp4"), ...letters]),
    "mp4",
    video("video/mp4"),
    "video",
    "bytes_after_end",
  ],
])(
  "%s that its server calls text → stored byte by byte with its real type; anything odd is logged",
  async (_what, bytes, ending, facts, step, note) => {
    const headers = { "content-type": "text/plain" };
    const { calls, lines } = await run(
      answering(() => new Response(bytes, { headers })),
      { task: { step } },
    );
    const contentType = Object(facts).content_type;
    expect(storage.files).toEqual(new Map([[`/keyframe-outputs/${NAME}.${ending}`, { bytes, contentType }]]));
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const found = { output_path: `${NAME}.${ending}`, bytes: bytes.byteLength, sha256, ...facts };
    expect(calls).toEqual([["complete", expect.objectContaining(found)]]);
    expect(/"note":"(\w+)"/.exec(lines.join())?.[1]).toBe(note);
  },
);

const endless = () => new ReadableStream({ pull: (controller) => controller.enqueue(kit.PNG) }, { highWaterMark: 0 });
const after = (last_error: string): Options => ({ task: { last_error } });
type Case = [answered: string, answer: (request: Request) => Response, calls: unknown[], Options?];
test.each<Case>([
  ["a web page", () => new Response("<html>"), [failed("output_not_usable")]],
  ["a text that begins as an MP3", () => new Response("ID3 is explained below."), [failed("output_not_usable")]],
  ["a text that begins as an Ogg file", () => new Response("OggS begins a page."), [failed("output_not_usable")]],
  ["an SVG", () => new Response(`<svg xmlns="http://www.w3.org/2000/svg"/>`), [failed("output_not_usable")]],
  ["a file without end", () => new Response(endless()), [failed("output_too_large")], { maxBytes: 100_000 }],
  ["a redirect, even to itself", ({ url }) => Response.redirect(`${url}?again`), [failed("output_not_usable")]],
  ...[206, 429, 500, 503].map((status): Case => {
    return [`${status}`, () => new Response("no", { status }), [later("output_unreachable")]];
  }),
  ...[403, 404, 410].flatMap((status): Case[] => {
    const gone = () => new Response(null, { status });
    return [
      [`${status} for the first time`, gone, [later("output_expired")]],
      [`${status} after another failure`, gone, [later("output_expired")], after("storage_unavailable")],
      [`${status} for the second time`, gone, [failed("output_expired")], after("output_expired")],
    ];
  }),
])(
  "an output's server answers %s → failed as the code says, one request, nothing in Storage",
  async (_what, answer, calls, options) => {
    let requests = 0;
    const url = answering((request) => {
      requests += 1;
      return answer(request);
    });
    expect((await run(url, options)).calls).toEqual(calls);
    expect([requests, storage.files.size]).toEqual([1, 0]);
  },
);

test("an output's address with a foreign host, but an allowed one as user name → output_not_usable, not fetched", async () => {
  let requests = 0;
  const url = new URL(
    answering(() => {
      requests += 1;
      return image();
    }),
  );
  url.username = "replicate.delivery";
  const { calls } = await run(url.href, { outputHosts: "replicate.delivery" });
  expect([calls, requests]).toEqual([[failed("output_not_usable")], 0]);
});

test("an output that breaks off, a server that is down, a task whose time is over → tried again, nothing in Storage", async () => {
  const head = `HTTP/1.1 200 OK\r\ncontent-length: ${kit.PNG.byteLength + 100}\r\n\r\n`;
  const broken = await receive((socket) => {
    socket.write(head);
    socket.end(kit.PNG);
  });
  const ends = [
    await run(`${broken.url}/out.png`),
    await run("http://127.0.0.1:1/out.png"),
    await run(answering(image), {}, AbortSignal.abort()),
  ];
  expect(ends.map(({ calls }) => calls)).toEqual(Array(3).fill([later("output_unreachable")]));
  expect(storage.files.size).toBe(0);
});

test("an output that drips until its time is over → tried again, and nothing of it is in Storage", async () => {
  const ended = new AbortController();
  let sent = 0;
  const drip = new ReadableStream({
    async pull(controller) {
      controller.enqueue(sent < kit.PNG.byteLength ? kit.PNG.subarray(sent, sent + 1) : new Uint8Array(1));
      if (++sent === 500) ended.abort();
      await new Promise((go) => setTimeout(go, 1));
    },
  });
  expect(
    (
      await run(
        answering(() => new Response(drip)),
        {},
        ended.signal,
      )
    ).calls,
  ).toEqual([later("output_unreachable")]);
  expect(storage.files.size).toBe(0);
});

test("an output with more bytes than announced → the announced ones are stored", async () => {
  const head = `HTTP/1.1 200 OK\r\ncontent-length: ${kit.PNG.byteLength}\r\n\r\n`;
  const talking = await receive((socket) => {
    socket.write(head);
    socket.end(new Uint8Array([...kit.PNG, ...kit.PNG]));
  });
  const { calls } = await run(`${talking.url}/out.png`);
  expect(calls).toEqual([["complete", expect.objectContaining({ bytes: kit.PNG.byteLength })]]);
  expect(storage.files.get(`/keyframe-outputs/${NAME}.png`)?.bytes).toEqual(kit.PNG);
});

test("an output that fetch has decompressed → complete, though Content-Length is different", async () => {
  const headers = { "content-encoding": "gzip", "content-length": String(kit.PNG.byteLength - 1) };
  const decoded = async () => new Response(kit.PNG, { headers });
  const output = readOutput(
    "https://replicate.delivery/out.png",
    { isAllowed: () => true, fetch: decoded },
    kit.never(),
  );
  expect(await Array.fromAsync(output)).toEqual([kit.PNG]);
});

test("an output announced as too large → failed before any of it is read", async () => {
  const announced = await receive((socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 300000000\r\n\r\n"));
  expect((await run(`${announced.url}/out.png`)).calls).toEqual([failed("output_too_large")]);
});

test("an output of an unusable type that goes on → its transfer is ended", async () => {
  const closed = Promise.withResolvers<void>();
  const page = await receive((socket) => {
    socket.once("close", () => closed.resolve());
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 300000\r\n\r\n<!doctype html><html>${" ".repeat(64)}`);
  });
  expect((await run(`${page.url}/out.png`)).calls).toEqual([failed("output_not_usable")]);
  const ended = performance.now();
  await closed.promise;
  expect(performance.now() - ended).toBeLessThan(10_000); // whatever is left over goes some day
});

test("a slow output → read however long it takes; given up when nothing arrives for 20 s", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { promise: body, resolve: begin } = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
  const url = answering(() => new Response(new ReadableStream({ start: (controller) => begin(controller) })));
  const silent = answering(() => new Promise<Response>(() => {}));
  const read = (from: string) => readOutput(from, { isAllowed: () => true, fetch }, kit.never());
  const output = read(url);
  for (let round = 1; round <= 5; round++) {
    const next = output.next();
    const controller = await body;
    vi.advanceTimersByTime(19_000);
    controller.enqueue(new Uint8Array([round]));
    expect(await next).toEqual({ done: false, value: new Uint8Array([round]) });
  }
  const stalled = [output.next(), read(silent).next()].map((next) => next.catch(({ code }) => code));
  vi.advanceTimersByTime(20_000);
  expect(await Promise.all(stalled)).toEqual(["output_unreachable", "output_unreachable"]);
});

test.each([503, 403, 200, null])(
  "Storage answers %s without having the file, or is down → the copy is tried again",
  async (status) => {
    storage.refuse = status;
    const options = status === null ? { storageUrl: "http://127.0.0.1:1" } : {};
    expect((await run(answering(image), options)).calls).toEqual([later("storage_unavailable")]);
  },
);

test("Storage finds an output too large → failed, since a repetition would not help", async () => {
  storage.refuse = 413;
  expect((await run(answering(image))).calls).toEqual([failed("output_too_large")]);
});

test("the database does not say whether an output was recorded → the file stays, since an event may name it", async () => {
  const complete = () => Promise.reject(new DatabaseError("complete_prediction", 503, ""));
  const { calls, error } = await run(answering(image), { database: { complete } });
  expect(error).toBeInstanceOf(DatabaseError);
  expect(calls.map(([name]) => name)).toEqual(["complete"]);
  expect(storage.files.size).toBe(1);
});

test("the log of a failed copy → names the prediction and the code, never the output's address", async () => {
  const { lines } = await run(`${answering(() => new Response("no", { status: 500 }))}?token=secret`);
  expect(lines.join()).toContain(kit.PREDICTION);
  expect(lines.join()).toContain("output_unreachable");
  expect(lines.join()).not.toMatch(/token|secret|http/);
});

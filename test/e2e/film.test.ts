import { loadImage } from "@napi-rs/canvas";
import { decodeJwt } from "jose";
import { createFile, MP4BoxBuffer } from "mp4box";
import { afterAll, expect, inject, test } from "vitest";
import { runDemo } from "../../tools/demo/run-demo.ts";
import { showStages, type Stage } from "../../command-line/show-stages.ts";
import { drawReferencePhoto } from "../../local/simulator/draw/picture.ts";
import { type Prediction, uploadedReferenceImage } from "../../shared/contract/predictions.ts";
import { download, expectSoundEnd } from "../support/film/ending.ts";
import { newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { providerRuns } from "../support/api/provider.ts";
import { connect } from "../support/stack/own-stack.ts";

const stack = inject("stack");
const sql = connect(stack.databaseUrl);
afterAll(() => sql.end({ timeout: 1 }));

type Movie = { codec: string; width: number; height: number; seconds: number; sounds: number };

/** What a reader that is not ours finds in an MP4. */
function readMovie(bytes: Uint8Array<ArrayBuffer>): Movie {
  const file = createFile();
  let found: Movie | undefined;
  file.onReady = ({ duration, timescale, videoTracks: [track], audioTracks }) => {
    if (!track?.video) return;
    const { width, height } = track.video;
    found = { codec: track.codec, width, height, seconds: duration / timescale, sounds: audioTracks.length };
  };
  file.appendBuffer(MP4BoxBuffer.fromArrayBuffer(bytes.buffer, 0));
  file.flush();
  if (!found) throw new Error("The file is not an MP4 with a video track.");
  return found;
}

test("reference image, first frame, last frame, video → three files as documented, one run each", async () => {
  const maker = await newFilmMaker(stack);
  const photo = drawReferencePhoto(maker.projectId);
  const { referenceImagePath } = await maker.call(
    uploadedReferenceImage,
    "POST",
    "/api/projects/reference-images",
    photo,
  );
  const prompts = { first: promptWith(), last: promptWith(), video: promptWith() };
  const make = async (started: Promise<Prediction>) => {
    const made = await started;
    expect(made).toMatchObject({ status: "queued", projectId: maker.projectId, output: null, error: null });
    const ended = await maker.untilEnded(made);
    expect(ended).toMatchObject({ status: "succeeded", progress: 1, attempt: 1, error: null, step: made.step });
    await expectSoundEnd(sql, ended);
    const path = `${maker.userId}/${maker.projectId}/${ended.predictionId}.`;
    expect(ended.output?.path.startsWith(path)).toBe(true);
    const times = [ended.createdAt, ended.startedAt ?? "", ended.completedAt ?? ""];
    expect(times).toEqual(times.toSorted());
    return { ended, file: await download(ended) };
  };
  const first = await make(maker.start("first-frame", { referenceImagePath, prompt: prompts.first }));
  const last = await make(maker.start("last-frame", { referenceImagePath, prompt: prompts.last }));
  const video = await make(maker.start("video", { prompt: prompts.video, durationSeconds: 5, audio: true }));

  for (const { ended, file } of [first, last]) {
    const { width, height } = await loadImage(file);
    expect(ended.output).toMatchObject({ contentType: "image/png", width, height });
    expect(width / height).toBeCloseTo(16 / 9, 1);
  }
  const movie = readMovie(video.file);
  expect(movie).toMatchObject({ codec: expect.stringMatching(/^avc1/), seconds: expect.closeTo(5, 1), sounds: 1 });
  expect(video.ended.output).toMatchObject({
    contentType: "video/mp4",
    width: movie.width,
    height: movie.height,
    hasAudio: true,
  });
  expect(video.ended.output?.durationSeconds).toBeCloseTo(movie.seconds, 2);

  // What the provider was asked for: the reference, the first frame for the look, both frames for the video.
  const inputs = await Promise.all(Object.values(prompts).map((prompt) => providerRuns(prompt, stack)));
  expect(inputs.map((runs) => runs.length)).toEqual([1, 1, 1]);
  const [forFirst, forLast, forVideo] = inputs.map(([run]) => run?.input);
  expect(forFirst?.image_input).toHaveLength(1);
  expect(forLast?.image_input).toHaveLength(2);
  expect(forVideo).toMatchObject({ mode: "standard", duration: 5, generate_audio: true });
  expect(forVideo?.start_image).toContain(first.ended.predictionId);
  expect(forVideo?.end_image).toContain(last.ended.predictionId);

  // Signed URLs cannot be revoked, so the provider's end after an hour.
  const urls = [forFirst?.image_input, forLast?.image_input, forVideo?.start_image, forVideo?.end_image].flat();
  const lifetimes = urls.map((url) => {
    const { iat, exp } = decodeJwt(new URL(String(url)).searchParams.get("token") ?? "");
    return (exp ?? Number.NaN) - (iat ?? Number.NaN);
  });
  expect(lifetimes).toEqual(Array(5).fill(3600));
});

test.each([
  [3, true],
  [1, false],
])(
  "the demo, shots: %i, cast: %o → each shot starts on the last frame before; files, film and events are checked",
  {
    timeout: 180_000,
  },
  async (count, withCast) => {
    const steps: Stage[] = [];
    let written = "";
    const file = await Deno.makeTempFile({ suffix: ".mp4" });
    const film = await runDemo({
      ...stack,
      ...{ shots: count, withCast, file },
      timeoutMs: 60_000,
      signal: new AbortController().signal,
      display: showStages((text) => {
        written += text;
      }, false),
      steps,
    });
    const numbers = Array.from({ length: count }, (_, at) => at + 1);
    expect(steps.map(({ name }) => name)).toEqual([
      ...["sign up", "webhook", ...(withCast ? ["cast"] : []), "film", ...numbers.map((number) => `shot ${number}`)],
      ...["read film", "events", "share", "one MP4"],
    ]);
    expect(film).toEqual({ link: expect.stringMatching(`^${stack.url}/#/shared/.{20}`), file });
    const seconds = expect.closeTo(5 * count, 1);
    expect(readMovie(await Deno.readFile(file))).toMatchObject({ width: 160, height: 90, seconds });
    await Deno.remove(file);
    const begins = (number: number) => (number === 1 ? "its first frame" : `the last frame of shot ${number - 1}`);
    expect(written.match(/^ {2}shot .*$/gm)?.map((line) => line.replace(/ +\d+ ms +/, ": "))).toEqual(
      numbers.map((number) =>
        expect.stringMatching(
          new RegExp(`^  shot ${number}: 160 × 90, \\d+ KiB, 5 s, .*; from ${begins(number)} to its last$`),
        ),
      ),
    );

    // The demo itself checks the frames of each video, and that each step was made with the cast.
    const made = await sql<{ step: string }[]>`
    select case when s.plan -> 'video' ->> 'continuesPreviousShot' = 'true' then 'continuing ' else '' end || p.step as step
    from keyframe.projects s join keyframe.predictions p on p.project_id = s.id
    where s.film_id = ${steps.find(({ name }) => name === "film")?.result ?? ""}
    order by s.film_position, p.created_at`;
    expect(made.map(({ step }) => step)).toEqual([
      ...["first-frame", "last-frame", "video"],
      ...numbers.slice(1).flatMap(() => ["continuing last-frame", "continuing video"]),
    ]);
  },
);

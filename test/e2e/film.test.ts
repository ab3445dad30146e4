import { createFile, MP4BoxBuffer } from "mp4box";
import { afterAll, expect, inject, test } from "vitest";
import { runDemo } from "../../tools/demo/run-demo.ts";
import { showStages, type Stage } from "../../command-line/show-stages.ts";
import { connect } from "../support/stack/own-stack.ts";

const stack = inject("stack");
const sql = connect(stack.databaseUrl);
afterAll(() => sql.end({ timeout: 1 }));

type Movie = { width: number; height: number; seconds: number };

/** What a reader that is not ours finds in an MP4. */
function readMovie(bytes: Uint8Array<ArrayBuffer>): Movie {
  const file = createFile();
  let found: Movie | undefined;
  file.onReady = ({ duration, timescale, videoTracks: [track] }) => {
    if (track?.video) found = { ...track.video, seconds: duration / timescale };
  };
  file.appendBuffer(MP4BoxBuffer.fromArrayBuffer(bytes.buffer, 0));
  file.flush();
  if (!found) throw new Error("The file is not an MP4 with a video track.");
  return found;
}

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

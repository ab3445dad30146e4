import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createKeyframeClient } from "../../client/index.ts";
import { freePort } from "../../local/network.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { providerRuns } from "../support/api/provider.ts";
import { signUpAt } from "../support/api/sign-up.ts";
import { EXAMPLE, type FilmStudio, npm, openFilmStudio, type Victim } from "../support/engines/film-studio.ts";
import type { Pass } from "../support/engines/gate.ts";
import { signedPost } from "../support/receiver/signed-post.ts";
import { promptWith } from "../support/film/film-maker.ts";
import { allGone, descendantsOf, runProgram } from "../support/tools/run-command.ts";
import { until } from "../support/until.ts";

// examples/film-workflow as its README says, on Restate, each process of which is killed.

let studio: FilmStudio;
beforeAll(async () => {
  await npm(["ci", "--no-audit", "--no-fund"], EXAMPLE);
  await npm(["run", "prepack"], `${PROJECT_ROOT}client`);
  studio = await openFilmStudio();
});
beforeEach(() => studio.watch(async () => undefined));
afterAll(() => studio.close());

type Choice = { projectId: string; step: string; takes: string[] };

/** A new user's film of so many shots, submitted. Each text of the script is its own, so that its runs can be counted. */
async function submit(shots: number, change: { ending?: string } = {}) {
  const { session } = await signUpAt(studio.stack);
  const userId = session.user.id;
  const keyframe = createKeyframeClient({ url: studio.stack.url, secretKey: studio.stack.secretKey, userId });
  const { filmId } = await keyframe.films.create({ title: "The boat" });
  const shot = (_: unknown, index: number) => {
    const title = `Shot ${index + 1}`;
    return { title, action: promptWith(), ending: promptWith(), ...change };
  };
  const script = { userId, opening: promptWith(), shots: Array.from({ length: shots }, shot), takes: 2 };
  await studio.call(filmId, "run/send", script);
  return { filmId, userId, keyframe, script };
}
type Submitted = Awaited<ReturnType<typeof submit>>;

const choicesOf = ({ filmId }: Submitted): Promise<Choice[]> => studio.call(filmId, "choices");

/** Preloaded: the clock of the day after tomorrow. */
const NEXT_DAY = `data:text/javascript,${encodeURIComponent("const now = Date.now; Date.now = () => now() + 48 * 3600e3")}`;

/** Waits for the choice of this number, and for what the workflow says meanwhile. */
const untilChoice = (film: Submitted, number: number): Promise<Choice> =>
  until(`choice ${number + 1} is open`, async () => (await choicesOf(film).catch(() => []))[number], 300_000);

/** Chooses the second take each time, and returns what was chosen, in order. */
async function chooseAll(film: Submitted, around: () => Promise<void> = async () => undefined): Promise<string[]> {
  const chosen: string[] = [];
  while (chosen.length <= film.script.shots.length) {
    const { takes } = await untilChoice(film, chosen.length);
    expect(takes).toHaveLength(2);
    await around();
    chosen.push(await studio.call(film.filmId, "choose", takes[1]));
    expect(chosen.at(-1)).toBe(takes[1]);
    await around();
  }
  return chosen;
}

const untilReady = ({ filmId }: Submitted): Promise<string[]> =>
  until("the film is ready", () => studio.output(filmId), 300_000);

/** Checks that the film is there as it was chosen, and that each of its pictures and videos was made and paid once. */
async function expectFilm(film: Submitted, chosen: string[], videos: string[]): Promise<void> {
  const { script, userId, keyframe, filmId } = film;
  const { shots } = await keyframe.films.read(filmId);
  expect(shots.map(({ title }) => title)).toEqual(script.shots.map(({ title }) => title));
  expect(shots.map(({ takes }) => takes.video?.predictionId)).toEqual(videos);
  for (const [index, { takes, selected }] of shots.entries()) {
    const [begins, ends] = chosen.slice(index);
    expect(takes.video).toMatchObject({
      status: "succeeded",
      outdated: false,
      input: { firstFramePredictionId: begins, lastFramePredictionId: ends },
    });
    expect(selected["last-frame"]).toBe(ends);
  }
  const pictures = [script.opening, ...script.shots.map(({ ending }) => ending)];
  const wanted = [...pictures.map((prompt) => [prompt, 2]), ...script.shots.map(({ action }) => [action, 1])];
  const runs = wanted.map(async ([prompt]) => [prompt, (await providerRuns(String(prompt), studio.stack)).length]);
  expect(await Promise.all(runs)).toEqual(wanted);
  const ledger = await studio.stack.sql`
    select count(distinct prediction_id)::int as predictions, count(provider_prediction_id)::int as runs,
      count(*) filter (where outcome = 'succeeded')::int as succeeded
    from keyframe_private.provider_submits where owner_id = ${userId}`;
  const total = pictures.length * 2 + script.shots.length;
  expect(ledger).toEqual([{ predictions: total, runs: total, succeeded: total }]);
}

describe("a film of three shots", () => {
  test.each(["the workflow's server", "Restate", "one of Keyframe's functions"] satisfies Victim[])(
    "%s is killed at each call, each event and around each choice → the film as chosen, each shot paid once",
    async (victim) => {
      const seen = new Map<string, number>();
      /** Once for each name: every other one before the request arrives, the others when its answer is on the way. */
      const watcher = async ({ name, moment }: Pass) => {
        if (!seen.has(name)) seen.set(name, seen.size);
        const number = seen.get(name) ?? 0;
        if (moment !== (number % 2 === 0 ? "after" : "before") || number < 0) return;
        seen.set(name, -1);
        await studio.crash[victim](name);
      };
      studio.watch(watcher);
      const film = await submit(3);
      const chosen = await chooseAll(film, () => studio.crash[victim]());
      const videos = await untilReady(film);
      await expectFilm(film, chosen, videos);
      // Three projects, eight takes of pictures, three videos, four selections, and an event of each prediction.
      expect(seen.size).toBe(3 + 8 + 3 + 4 + 11);
    },
  );
});

test("the film workflow's type check, on the installed packages → no error", async () => {
  const { code, stdout } = await new Deno.Command(`${PROJECT_ROOT}node_modules/.bin/tsc`, { cwd: EXAMPLE }).output();
  expect([code, new TextDecoder().decode(stdout)]).toEqual([0, ""]);
});

describe("a film of one shot", () => {
  beforeEach(async () => {
    await fetch(`${studio.stack.simulatorUrl}/control/faults`, { method: "DELETE" });
  });
  const nextRunsFail = async (times: number) => {
    const body = JSON.stringify({ fault: "failed", times });
    expect((await fetch(`${studio.stack.simulatorUrl}/control/faults`, { method: "POST", body })).status).toBe(200);
  };
  const took = (film: Submitted, take: unknown) => studio.call(film.filmId, "choose", take);

  test("one of a shot's two takes fails → the other is offered; chosen twice → once; an unknown take, or none → refused", async () => {
    await nextRunsFail(1);
    const film = await submit(1);
    const first = await untilChoice(film, 0);
    expect(first.takes).toHaveLength(1);
    const [frame = ""] = first.takes;
    await expect(took(film, crypto.randomUUID())).rejects.toThrow("404");
    await expect(took(film, { take: frame })).rejects.toThrow("404");
    expect([await took(film, frame), await took(film, frame)]).toEqual([frame, frame]);
    const { takes } = await untilChoice(film, 1);
    expect(await Promise.all([took(film, takes[1]), took(film, takes[1])])).toEqual([takes[1], takes[1]]);
    expect(await took(film, takes[0])).toBe(takes[1]);
    const [video] = await untilReady(film);
    const { shots } = await film.keyframe.films.read(film.filmId);
    expect(shots[0]).toMatchObject({ takes: { video: { predictionId: video } }, selected: { "last-frame": takes[1] } });
  });

  test("both takes of a shot fail temporarily → made again; the model refuses them → the film fails with its sentence", async () => {
    await nextRunsFail(2);
    const film = await submit(1, { ending: promptWith("rejected") });
    const { takes, projectId } = await untilChoice(film, 0);
    expect(takes).toHaveLength(2);
    const { predictions } = await film.keyframe.predictions.list(projectId, { step: "first-frame" });
    expect(predictions.map(({ status }) => status)).toEqual(["succeeded", "succeeded", "failed", "failed"]);
    await took(film, takes[0]);
    await expect(untilReady(film)).rejects.toThrow(/shot-1: The model's safety filter rejected/);
  });

  test("a user cancels every take, so that no event comes → the workflow polls, and the film fails", async () => {
    onTestFinished(async () => {
      await studio.stack.setRunDelay(0);
      await studio.crashInto();
    });
    await studio.crashInto({ LOOK_AFTER_SECONDS: "1" });
    await studio.stack.setRunDelay(60_000);
    const film = await submit(1);
    const made = await until("both takes are started", async () => {
      const [shot] = (await film.keyframe.films.read(film.filmId)).shots;
      const { predictions } = shot ? await film.keyframe.predictions.list(shot.projectId) : { predictions: [] };
      return predictions.length === 2 && predictions;
    });
    for (const prediction of made) await film.keyframe.cancel(prediction);
    await expect(untilReady(film)).rejects.toThrow("shot-1: canceled");
  });

  test("the answer to a start is lost until its key is forgotten → the workflow finds the prediction, and starts no second", async () => {
    const film = await submit(1);
    onTestFinished(() => studio.crashInto());
    let looked = false;
    studio.watch(async ({ name, moment }) => {
      if (name.startsWith("GET") && name.includes("/predictions")) looked = true;
      if (moment !== "after" || !name.endsWith("/shot-1/video/1") || looked) return;
      await studio.stack.sql`delete from keyframe_private.idempotency_keys where owner_id = ${film.userId}`;
      await studio.crashInto({ preload: NEXT_DAY });
    });
    const chosen = await chooseAll(film);
    await until("the workflow has recorded the start", async () => {
      const { shots } = await film.keyframe.films.read(film.filmId);
      const { predictions } = await film.keyframe.predictions.list(shots[0]?.projectId ?? "", { step: "video" });
      const waits = `'%"GetPromise":{"key":"${predictions[0]?.predictionId}"%'`;
      const rows = await studio.query(`select index from sys_journal where entry_json like ${waits}`);
      return rows.length > 0;
    });
    await studio.crashInto();
    expect(looked).toBe(true);
    await expectFilm(film, chosen, await untilReady(film));
  });
});

describe("events", () => {
  const secretOf = () => studio.webhook.secret;
  const event = (data: object, type = "generation.succeeded") =>
    JSON.stringify({ type, timestamp: new Date().toISOString(), data });
  const about = { predictionId: crypto.randomUUID(), filmId: crypto.randomUUID() };

  test("an event that is forged, too large, of an unknown or no film, or of another type → refused, or without effect", async () => {
    const post = (body: string, secret = secretOf()) => signedPost(studio.eventsUrl, secret, body);
    expect(await post(event(about), `whsec_${btoa("k".repeat(32))}`)).toBe(401);
    expect(await post("x".repeat(70_000))).toBe(413);
    expect((await fetch(studio.eventsUrl)).status).toBe(405);
    for (const body of [event(about), event({ ...about, filmId: undefined }), event(about, "project.created")]) {
      expect(await post(body)).toBe(204);
    }
    const left = await studio.query(`select * from sys_promise where service_key = '${about.filmId}'`);
    expect(left).toEqual([]);
  });

  test("an event that is sent again, also once the film is ready → 204, and nothing changes", async () => {
    const film = await submit(1);
    const chosen = await chooseAll(film);
    const videos = await untilReady(film);
    const body = event({ predictionId: videos[0], filmId: film.filmId }, "generation.failed");
    for (const _ of ["again", "once more"]) {
      expect(await signedPost(studio.eventsUrl, secretOf(), body)).toBe(204);
    }
    await expectFilm(film, chosen, videos);
  });
});

test("the commands of the film workflow's README with a running stack, and a person who answers → a film; then all stops", async () => {
  const { url, dataDir } = studio.stack;
  const env = { KEYFRAME_URL: url, KEYFRAME_DATA: dataDir, PORT: String(freePort()) };
  const start = runProgram("npm", ["start"], env, EXAMPLE);
  await start.printed("Make one: npm run film");
  const processes = await descendantsOf(start.pid);
  expect(processes.filter((each) => each.includes("restate-server"))).toHaveLength(1);

  const piped = { stdin: "piped", stdout: "piped" } as const;
  const film = new Deno.Command("npm", { args: ["run", "film"], cwd: EXAMPLE, env, ...piped }).spawn();
  const person = film.stdin.getWriter();
  let said = "";
  for await (const text of film.stdout.pipeThrough(new TextDecoderStream())) {
    said += text;
    if (text.includes("Which")) await person.write(new TextEncoder().encode("2\n"));
  }
  await person.close();
  expect((await film.status).code).toBe(0);
  expect(said.match(/Which [a-z-]+\?/g)).toEqual(
    ["first-frame", ...Array(3).fill("last-frame")].map((step) => `Which ${step}?`),
  );
  expect(said).toContain("The film is ready: 3 shots.");

  start.kill("SIGTERM");
  await start.ended;
  await allGone(processes);
});

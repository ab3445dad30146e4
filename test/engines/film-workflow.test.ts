import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createKeyframeClient } from "../../client/index.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { providerRuns } from "../support/api/provider.ts";
import { signUpAt } from "../support/api/sign-up.ts";
import { EXAMPLE, type FilmStudio, npm, openFilmStudio, type Victim } from "../support/engines/film-studio.ts";
import type { Pass } from "../support/engines/gate.ts";
import { promptWith } from "../support/film/film-maker.ts";
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
async function submit(shots: number) {
  const { session } = await signUpAt(studio.stack);
  const userId = session.user.id;
  const keyframe = createKeyframeClient({ url: studio.stack.url, secretKey: studio.stack.secretKey, userId });
  const { filmId } = await keyframe.films.create({ title: "The boat" });
  const shot = (_: unknown, index: number) => ({
    title: `Shot ${index + 1}`,
    action: promptWith(),
    ending: promptWith(),
  });
  const script = { userId, opening: promptWith(), shots: Array.from({ length: shots }, shot), takes: 2 };
  await studio.call(filmId, "run/send", script);
  return { filmId, userId, keyframe, script };
}
type Submitted = Awaited<ReturnType<typeof submit>>;

const choicesOf = ({ filmId }: Submitted): Promise<Choice[]> => studio.call(filmId, "choices");

/** Waits for the choice of this number, and for what the workflow says meanwhile. */
const untilChoice = (film: Submitted, number: number): Promise<Choice> =>
  until(`choice ${number + 1} is open`, async () => (await choicesOf(film).catch(() => []))[number]);

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
  until("the film is ready", () => studio.output(filmId), 120_000);

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
  test.each(["the workflow's server", "Restate", "Keyframe's functions"] satisfies Victim[])(
    "%s is killed at each call, at each event and around each choice → the film as it was chosen, each shot paid once",
    async (victim) => {
      const seen = new Map<string, number>();
      let last: Promise<unknown> = Promise.resolve();
      /** Once for each name: every other one before the request arrives, the others when its answer is on the way. */
      const watcher = async ({ name, moment }: Pass) => {
        if (!seen.has(name)) seen.set(name, seen.size);
        const number = seen.get(name) ?? 0;
        if (moment !== (number % 2 === 0 ? "after" : "before") || number < 0) return;
        seen.set(name, -1);
        last = last.then(studio.crash[victim]);
        await last;
      };
      studio.watch(watcher);
      const film = await submit(3);
      const chosen = await chooseAll(film, studio.crash[victim]);
      const videos = await untilReady(film);
      await expectFilm(film, chosen, videos);
      console.log(victim, seen.size);
    },
  );
});

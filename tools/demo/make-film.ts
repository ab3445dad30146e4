import type { Element, KeyframeClient, SucceededPrediction } from "../../client/index.ts";
import { drawReferencePhoto } from "../../local/simulator/draw/picture.ts";
import type { Step } from "../../shared/contract/fields.ts";
import type { EventReceiver } from "./expect-events.ts";
import { type DemoOptions, describeOutput, runStep, type Timed } from "./make-shot.ts";

const SCENE = "A lighthouse on a cliff, waves below, slow camera move towards the sea";
const CAST = [
  { kind: "character", name: "Mara", text: "A keeper of 60 in a yellow oilskin" },
  { kind: "character", name: "Jon", text: "A boy of 12 with a red cap" },
  { kind: "place", name: "The lighthouse", text: "White, on a cliff, with a green door" },
] as const;
const SCENE_OF_CAST = "@Mara and @Jon in front of @the lighthouse";
const TIMES = ["at dusk", "in the deep blue of night", "at sunrise", "in a storm", "at noon"];

type Shot = {
  projectId: string;
  events: string[];
  last: SucceededPrediction;
  video: SucceededPrediction;
  result: string;
};

/**
 * Makes a film whose shots each start on the last frame of the previous one; checks every file, the film and every event. Returns the film.
 */
export async function makeFilm(
  keyframe: KeyframeClient,
  receiver: EventReceiver,
  timed: Timed,
  options: DemoOptions & { shots: number },
): Promise<string> {
  const { shots: count, signal, withCast = false } = options;
  const cast = withCast
    ? await timed(
        "cast",
        () => Promise.all(CAST.map((one) => makeElement(one, keyframe, signal))),
        (made) => made.map(({ name }) => name).join(", "),
      )
    : [];
  const elementIds = cast.map(({ elementId }) => elementId);
  const { filmId } = await timed(
    "film",
    () => keyframe.films.create({ title: "Lighthouse", ...(withCast && { elementIds }) }, { signal }),
    (made) => made.filmId,
  );
  const shots: Shot[] = [];
  while (shots.length < count) {
    const number = shots.length + 1;
    const make = () => makeShotOf(filmId, number, shots.at(-1), cast, keyframe, options);
    shots.push(await timed(`shot ${number}`, make, ({ result }) => result));
  }
  await timed(
    "read film",
    async () => {
      const film = await keyframe.films.read(filmId, { signal });
      const read = film.shots.map(({ projectId, takes }) => `${projectId} ${takes.video?.predictionId}`);
      const made = shots.map(({ projectId, video }) => `${projectId} ${video.predictionId}`);
      if (read.join() !== made.join()) throw new Error("The film does not have its shots and videos in order.");
    },
    () => `${count} shots in order, each with its video, in one answer`,
  );
  await timed(
    "events",
    () => Promise.all(shots.map(({ projectId, events }) => receiver.eventsOf(projectId, events, filmId))),
    (arrived) => `${arrived.flat().length} arrived, all signed and of this film`,
  );
  return filmId;
}

/** Creates an element with its own picture. */
async function makeElement(
  fields: (typeof CAST)[number],
  keyframe: KeyframeClient,
  signal: AbortSignal,
): Promise<Element> {
  const { referenceImagePath } = await keyframe.uploadReferenceImage(drawReferencePhoto(fields.name), { signal });
  return await keyframe.elements.create({ ...fields, imagePaths: [referenceImagePath] }, { signal });
}

/** Throws unless the prediction was made with the cast: its texts are in the prompt, and its images among the references of a frame. */
function expectCast({ step, input }: SucceededPrediction, cast: Element[]): void {
  const isUsed = ({ elementId, name, text, imagePaths }: Element, at: number) =>
    input.elements[at]?.elementId === elementId &&
    input.prompt.includes(`${name}: ${text}`) &&
    (step === "video" || imagePaths.every((path) => input.referenceImagePaths.includes(path)));
  if (input.elements.length !== cast.length || !cast.every(isUsed))
    throw new Error(`The ${step} was not made with the cast.`);
}

/** Makes one shot. The first one has its own first frame, each other one continues the previous one. */
async function makeShotOf(
  filmId: string,
  number: number,
  before: Shot | undefined,
  cast: Element[],
  keyframe: KeyframeClient,
  options: DemoOptions,
): Promise<Shot> {
  const timeOf = (at: number) => TIMES[at % TIMES.length];
  const prompt = (at: number) => `${cast.length > 0 ? SCENE_OF_CAST : SCENE}, ${timeOf(at)}`;
  const fields = { title: `Lighthouse ${timeOf(number - 1)}`, textPrompt: prompt(number - 1), filmId };
  // These settings are in the plan, so that the dashboard's next take is made in the same way.
  const plan = {
    "last-frame": { prompt: prompt(number), ...(before && { firstFramePredictionId: before.last.predictionId }) },
    ...(before && { video: { continuesPreviousShot: true } }),
  };
  const { projectId } = await keyframe.projects.create({ ...fields, plan }, { signal: options.signal });
  const events = ["project.created"];
  const run = async (step: Step): Promise<SucceededPrediction> => {
    events.push("generation.succeeded");
    const made = await runStep(keyframe, options, step, { projectId });
    expectCast(made, cast);
    return made;
  };
  const first = before === undefined ? await run("first-frame") : undefined;
  const last = await run("last-frame");
  const video = await run("video");
  const { firstFramePredictionId, continuesPredictionId, lastFramePredictionId } = video.input;
  const isStart = before
    ? continuesPredictionId === before.video.predictionId
    : firstFramePredictionId === first?.predictionId;
  if (!isStart || lastFramePredictionId !== last.predictionId)
    throw new Error("The video does not start and end where its shot does.");
  const from = before === undefined ? "its first frame" : `the last frame of shot ${number - 1}`;
  return { projectId, events, last, video, result: `${describeOutput(video)}; from ${from} to its last` };
}

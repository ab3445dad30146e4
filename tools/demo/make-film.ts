import { type KeyframeClient, mustSucceed, type StepBody, type SucceededPrediction } from "../../client/index.ts";
import type { Step } from "../../shared/contract/fields.ts";
import type { Prediction } from "../../shared/contract/predictions.ts";
import { checkFrame, checkVideo } from "./check-files.ts";
import type { EventReceiver } from "./expect-events.ts";
import { ProgressBar } from "./progress-bar.ts";
import { type DemoOptions, downloadOutput, type Timed } from "./make-shot.ts";

const SCENE = "A lighthouse on a cliff, waves below, slow camera move towards the sea";
const TIMES = ["at dusk", "in the deep blue of night", "at sunrise", "in a storm", "at noon"];

/** A frame with its file. */
type Frame = { made: SucceededPrediction; file: Uint8Array };
type Shot = { projectId: string; generated: Step[]; last: Frame; video: SucceededPrediction; result: string };

/** A film whose shots each start on the last frame of the one before; checks every file, the film and every event. */
export async function makeFilm(
  keyframe: KeyframeClient,
  receiver: EventReceiver,
  timed: Timed,
  options: DemoOptions & { shots: number },
): Promise<void> {
  const { shots: count, signal, write } = options;
  const { filmId } = await timed(
    "film",
    () => keyframe.films.create({ title: "Lighthouse" }, { signal }),
    (made) => made.filmId,
  );
  write("\n");
  const shots: Shot[] = [];
  while (shots.length < count) {
    const make = () => makeShot(keyframe, filmId, shots.length + 1, shots.at(-1)?.last, options);
    shots.push(await timed(`shot ${shots.length + 1}`, make, ({ result }) => result));
  }
  write("\n");
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
    () => Promise.all(shots.map(({ projectId, generated }) => receiver.eventsOf(projectId, generated.length, filmId))),
    (arrived) => `${arrived.flat().length} arrived, each signed and of this film`,
  );
}

/** Makes one shot, with one progress line for its steps. The first shot has a first frame of its own. */
async function makeShot(
  keyframe: KeyframeClient,
  filmId: string,
  number: number,
  before: Frame | undefined,
  { signal, write, timeoutMs }: DemoOptions,
): Promise<Shot> {
  const prompt = (at: number) => `${SCENE}, ${TIMES[at % TIMES.length]}`;
  const { projectId } = await keyframe.createProject(
    { title: `Shot ${number}`, textPrompt: prompt(number - 1), filmId },
    { signal },
  );
  const generated: Step[] = [];
  const steps = before === undefined ? 3 : 2;
  const bar = new ProgressBar(`shot ${number}`, write);
  const run = async <S extends Step>(step: S, body: StepBody[S]) => {
    const onProgress = ({ progress }: Prediction) => bar.show((generated.length + (progress ?? 0)) / steps, step);
    const started = await keyframe.generate(step, body, { signal });
    const made = mustSucceed(await keyframe.waitFor(started, { signal, onProgress, timeoutMs }));
    generated.push(step);
    bar.show(generated.length / steps, step);
    return { made, file: await downloadOutput(made, signal) };
  };
  try {
    const first = before ?? (await run("first-frame", { projectId }));
    const firstFramePredictionId = first.made.predictionId;
    const last = await run("last-frame", { projectId, firstFramePredictionId, prompt: prompt(number) });
    const video = await run("video", { projectId, firstFramePredictionId });
    await checkFrame(last.file, last.made);
    const said = await checkVideo(video.file, first.file, last.file, video.made, signal);
    const result =
      before === undefined ? said : said.replace("the first frame", `the last frame of shot ${number - 1}`);
    return { projectId, generated, last, video: video.made, result };
  } finally {
    bar.end();
  }
}

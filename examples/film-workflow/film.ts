import { TerminalError, TimeoutError, workflow } from "@restatedev/restate-sdk";
import type { DurablePromise, WorkflowContext, WorkflowSharedContext } from "@restatedev/restate-sdk";
import { hasEnded, KeyframeError, type KeyframeClient, type KeyframeErrorCode } from "keyframe-client";
import type { Prediction, PredictionRef, Step, StepBody } from "keyframe-client";

/** The script. The film is created before: its id is the workflow's, and Keyframe's events name it. */
export type Script = {
  /** The film's owner. The backend that submits the workflow has checked that this user requested it. */
  userId: string;
  /** The picture with which the film begins. */
  opening: string;
  /** The action of each shot, and its last picture, on which the next shot starts. */
  shots: { title: string; action: string; ending: string }[];
  /** How many takes of each picture a person chooses from. */
  takes: number;
};

/** A choice of a person: one of the takes becomes the picture. */
type Choice = { projectId: string; step: Step; takes: string[] };

/** How a prediction ended, from its event or from the API. */
export type Ended = Pick<Prediction, "predictionId" | "status" | "error">;

type State = { choices: Choice[] };
type Filming = { ctx: WorkflowContext<State>; keyframe: KeyframeClient; lookAfterSeconds: number };

export type FilmWorkflow = ReturnType<typeof filmWorkflow>;

/** `lookAfterSeconds`: when to ask how a prediction stands that has sent no event. A canceled one never sends any. */
export const filmWorkflow = (clientFor: (userId: string) => KeyframeClient, lookAfterSeconds: number) =>
  workflow({
    name: "film",
    handlers: {
      /** Films shot after shot, and returns the videos. */
      run: async (ctx: WorkflowContext<State>, { userId, opening, shots, takes }: Script): Promise<string[]> => {
        const filming = { ctx, keyframe: clientFor(userId), lookAfterSeconds };
        ctx.set("choices", []);
        const videos: string[] = [];
        let begins: string | undefined;
        for (const [index, { title, action, ending }] of shots.entries()) {
          const shot = `shot-${index + 1}`;
          const projectId = await act(filming, shot, async (idempotencyKey) => {
            const wanted = { title, textPrompt: action, filmId: ctx.key };
            return (await filming.keyframe.projects.create(wanted, { idempotencyKey })).projectId;
          });
          begins ??= await choose(filming, shot, "first-frame", { projectId, prompt: opening }, takes);
          const last = { projectId, prompt: ending, firstFramePredictionId: begins };
          const ends = await choose(filming, shot, "last-frame", last, takes);
          const between = { projectId, firstFramePredictionId: begins, lastFramePredictionId: ends };
          videos.push(...(await make(filming, shot, "video", between, 1)));
          begins = ends;
        }
        return videos;
      },

      /** The choices so far. The last one may be open. */
      choices: async (ctx: WorkflowSharedContext<State>): Promise<Choice[]> => (await ctx.get("choices")) ?? [],

      /** A person chooses a take. The first choice counts: returns the take that is chosen. */
      choose: async (ctx: WorkflowSharedContext<State>, take: string): Promise<string> => {
        const choice = (await ctx.get("choices"))?.find(({ takes }) => takes.includes(take));
        if (!choice) throw new TerminalError("This is no take to choose from.", { errorCode: 404 });
        return await settle(ctx.promise<string>(nameOf(choice)), take);
      },

      /** An event of Keyframe. It may come twice, and before the workflow waits for it. Events of other films have no workflow. */
      ended: async (ctx: WorkflowSharedContext<State>, ended: Ended): Promise<void> => {
        if ((await ctx.get("choices")) === null) return;
        await settle(ctx.promise<Ended>(ended.predictionId), ended);
      },
    },
    options: {
      // A failing call is repeated for a day, then Restate pauses the film until a person resumes it.
      retryPolicy: { initialInterval: { milliseconds: 250 }, maxInterval: { minutes: 1 }, maxAttempts: 1440 },
      asTerminalError: (error) =>
        error instanceof KeyframeError && FINAL.includes(error.code) ? new TerminalError(error.message) : undefined,
    },
  });

/** No repetition helps: the film ends. Anything else may pass or be mended: an outage, a used-up budget, a wrong key. */
const FINAL: KeyframeErrorCode[] = [
  ...(["invalid_request", "not_found", "user_not_found", "frame_not_ready"] as const),
  ...(["model_unavailable", "unsupported_input", "idempotency_mismatch"] as const),
];

const nameOf = ({ projectId, step }: Pick<Choice, "projectId" | "step">) => `${projectId}/${step}`;

/** Gives a promise of the workflow its value, unless it has one. Returns the value that it has. */
async function settle<T>(promise: DurablePromise<T>, value: T): Promise<T> {
  try {
    await promise.resolve(value);
    return value;
  } catch (error) {
    if (!(error instanceof TerminalError)) throw error;
    return await promise.get();
  }
}

/** A durable action: repeated until its result is recorded. The key makes each repetition the same call. */
const act = <T>({ ctx }: Filming, name: string, call: (idempotencyKey: string) => Promise<T>) =>
  ctx.run(name, () => call(`${ctx.key}/${name}`));

/** Makes takes, lets a person choose, for days if need be, and makes the choice the one that the project shows. */
async function choose<S extends Exclude<Step, "video">>(
  filming: Filming,
  shot: string,
  step: S,
  body: StepBody[S],
  count: number,
): Promise<string> {
  const { ctx, keyframe } = filming;
  const { projectId } = body;
  const choice = { projectId, step, takes: await make(filming, shot, step, body, count) };
  ctx.set("choices", [...((await ctx.get("choices")) ?? []), choice]);
  const take = await ctx.promise<string>(nameOf(choice));
  await act(filming, `${shot}/${step}/select`, async () => {
    await keyframe.projects.change(projectId, { selected: { [step]: take } });
  });
  return take;
}

const MAX_ROUNDS = 3;

/** The takes that succeed, of `count` at once; at least one. When all fail in a way that may pass, they are made again. */
async function make<S extends Step>(
  filming: Filming,
  shot: string,
  step: S,
  body: StepBody[S],
  count: number,
): Promise<string[]> {
  const started: string[] = [];
  for (let round = 1; ; round += 1) {
    const ended: Ended[] = [];
    while (started.length < round * count) {
      started.push(await start(filming, `${shot}/${step}/${started.length + 1}`, step, body, started));
    }
    for (const predictionId of started.slice(-count)) {
      ended.push(await end(filming, { projectId: body.projectId, step, predictionId }));
    }
    const takes = ended.filter(({ status }) => status === "succeeded").map(({ predictionId }) => predictionId);
    if (takes.length > 0) return takes;
    const final = ended.find(({ error }) => !error?.retryable) ?? (round === MAX_ROUNDS ? ended[0] : undefined);
    if (final !== undefined) throw new TerminalError(`${shot}: ${final.error?.message ?? "canceled"}`);
  }
}

/** How long Keyframe remembers an Idempotency-Key, less a margin. */
const KEY_LIFE_MS = 23 * 3600 * 1000;

/** Starts a prediction, and never a second one for it. `others`: those of the same step that are known. */
async function start<S extends Step>(
  filming: Filming,
  name: string,
  step: S,
  body: StepBody[S],
  others: string[],
): Promise<string> {
  const { ctx, keyframe } = filming;
  const since = await ctx.date.now();
  return await act(filming, name, async (idempotencyKey) => {
    // The key is forgotten by now, and an answer may have been lost before: then the project has the prediction.
    if (Date.now() - since > KEY_LIFE_MS) {
      const { predictions } = await keyframe.predictions.list(body.projectId, { step, limit: 1 });
      if (predictions[0] && !others.includes(predictions[0].predictionId)) return predictions[0].predictionId;
    }
    return (await keyframe.generate(step, body, { idempotencyKey })).predictionId;
  });
}

/** Waits for the event, and looks now and then how the prediction stands. */
async function end({ ctx, keyframe, lookAfterSeconds }: Filming, prediction: PredictionRef): Promise<Ended> {
  for (;;) {
    try {
      return await ctx.promise<Ended>(prediction.predictionId).get().orTimeout({ seconds: lookAfterSeconds });
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error;
    }
    const now = await ctx.run(`look at ${prediction.step}`, async () => {
      const read = await keyframe.predictions.read(prediction);
      return hasEnded(read) && { predictionId: read.predictionId, status: read.status, error: read.error };
    });
    if (now) return now;
  }
}

import type { Step } from "../../shared/contract/fields.ts";
import type { Prediction } from "../../shared/contract/predictions.ts";
import { pause } from "../../shared/platform/retry.ts";
import { balanceActions } from "./balance-actions.ts";
import { endpointActions } from "./endpoint-actions.ts";
import { pairPrompt, planPrompt } from "./prompts.ts";
import { codeOf, isUnanswered, recordStatus, removePrediction, removeProject, twice } from "./users.ts";
import type { Start, User, World } from "./world.ts";

/** A user with this many open predictions reads them instead of starting more. */
const MAX_OPEN = 20;
/** The delay between the two starts of a pair, and the share of pairs of which one is canceled at once. */
const PAIR_APART_MS = 50;
const PAIR_CANCELED = 0.4;

/** The share of starts with several takes. */
const SEVERAL = 0.08;

/** A model whose price depends on its input and output. */
const BY_MEGAPIXEL = "black-forest-labs/flux-2-pro";

const WEIGHTS = {
  createProject: 9,
  first: 44,
  last: 14,
  video: 1.2,
  nextShot: 12,
  film: 1,
  pair: 3,
  cancel: 6,
  deleteProject: 3,
  deleteTake: 4,
  upload: 3,
  read: 8,
  list: 2,
  changeEndpoint: 3,
  switchEndpoint: 2,
  rotate: 2,
  test: 2,
  redeliver: 4,
  recover: 1,
  replaceEndpoint: 1,
  purchase: 5,
  refund: 2,
} as const;

/** Does one random action of a user. Never throws. Returns the outcome: `ok` or the error's code. */
export async function act(user: User, world: World): Promise<string> {
  const name = user.open.size >= MAX_OPEN ? "read" : user.random.weighted(WEIGHTS);
  const actions = { ...projectActions(user, world), ...endpointActions(user, world), ...balanceActions(user, world) };
  try {
    await actions[name]();
    return "ok";
  } catch (error) {
    return codeOf(error);
  }
}

/** `given`: the prompt. */
type StartOptions = { [Name in "reference" | "given" | "frame" | "model"]?: string | undefined };

function projectActions(user: User, world: World) {
  const { client, random } = user;
  const { ledger } = world;
  const oneOf = <T>(all: T[]): T | undefined => (all.length === 0 ? undefined : random.pick(all));
  const start = async (step: Step, projectId: string | undefined, options: StartOptions = {}) => {
    const { reference, given, frame, model } = options;
    if (projectId === undefined) return;
    const key = crypto.randomUUID();
    const prompt = given ?? planPrompt(random, key);
    const body = {
      projectId,
      prompt,
      referenceImagePath: reference,
      firstFramePredictionId: frame,
      model,
      count: given === undefined && random.chance(SEVERAL) ? random.whole(2, 4) : undefined,
    };
    const projects = Array.from({ length: body.count ?? 1 }, () => projectId);
    await press({ key, prompt, reference: reference ?? null }, projects, async () => {
      const { predictions, ...first } = await client.generate(step, body, { idempotencyKey: key });
      return predictions ?? [first];
    });
  };
  /** A start of a take for each of these projects, and what came of it. */
  const press = async (
    requested: Pick<Start, "key" | "prompt" | "reference">,
    projects: string[],
    repeat: () => Promise<Prediction[]>,
  ) => {
    const entries = projects.map(
      (project_id, at): Start => ({
        ...requested,
        owner_id: user.userId,
        project_id,
        prediction_id: null,
        refusal: null,
        repeat: async () => (await repeat())[at]?.predictionId ?? null,
      }),
    );
    ledger.starts.push(...entries);
    try {
      const made = await twice(user, world, requested.key, "prediction", repeat, (all) =>
        all.map(({ predictionId }) => predictionId).join(),
      );
      for (const [at, one] of made.entries()) {
        const { predictionId, projectId, step } = one;
        Object.assign(entries[at] ?? {}, { prediction_id: predictionId });
        user.open.set(predictionId, { projectId, predictionId, step });
        recordStatus(user, world, one);
      }
    } catch (error) {
      if (!isUnanswered(error)) for (const entry of entries) entry.refusal = codeOf(error);
      throw error;
    }
  };
  const project = () => oneOf(user.projects);
  const cancel = async () => {
    const made = [...user.open.values()].at(-1);
    if (made) recordStatus(user, world, await client.cancel(made));
  };
  return {
    start,
    createProject: async () => {
      const key = crypto.randomUUID();
      const make = () =>
        client.projects.create({ title: key, textPrompt: "A harbour at dawn" }, { idempotencyKey: key });
      user.projects.push((await twice(user, world, key, "project", make, (made) => made.projectId)).projectId);
    },
    first: () =>
      start("first-frame", project(), {
        reference: random.chance(0.2) ? user.references.at(-1) : undefined,
        model: random.chance(0.1) ? BY_MEGAPIXEL : undefined,
      }),
    last: () => start("last-frame", project()),
    video: () => start("video", user.frames.find(({ step }) => step === "first-frame")?.projectId),
    // Starts on the frame of any project, which may be deleted at the same moment. Mostly a picture: a video takes the simulator a second.
    nextShot: async () => {
      const frame = oneOf(user.frames)?.predictionId;
      const step = random.chance(0.1) ? "video" : "last-frame";
      if (frame !== undefined) await start(step, project(), { frame });
    },
    // One press for three shots, each of which continues the one before. All end on a frame: no browser stores an end image here.
    film: async () => {
      const frame = oneOf(user.frames)?.predictionId;
      if (frame === undefined) return;
      const { filmId } = await client.films.create({ title: "The pier" });
      const shots: string[] = [];
      for (const video of [
        { firstFramePredictionId: frame },
        { continuesPreviousShot: true },
        { continuesPreviousShot: true },
      ]) {
        const fields = { title: crypto.randomUUID(), textPrompt: "A harbour at dawn", filmId, plan: { video } };
        shots.push((await client.projects.create(fields)).projectId);
      }
      const key = crypto.randomUUID();
      const prompt = planPrompt(random, key);
      const body = { prompt, lastFramePredictionId: frame };
      await press({ key, prompt, reference: null }, shots, async () => {
        const { predictions } = await client.films.generate(filmId, "video", body, { idempotencyKey: key });
        return predictions;
      });
      const [, second = ""] = shots;
      if (random.chance(0.3)) await client.films.change(filmId, { projectIds: shots.toReversed() });
      if (random.chance(0.2)) {
        ledger.deletions.push({ id: second });
        await client.projects.delete(second);
      }
    },
    cancel,
    pair: async () => {
      const found = oneOf(world.users.filter((one) => one !== user && !one.isDeleted && one.projects.length > 0));
      if (!found) return;
      // The other user's start here uses this user's random numbers, so that the plan stays the same.
      const other = { ...found, random };
      const given = pairPrompt(crypto.randomUUID());
      const [mine, theirs] = random.chance(0.5) ? [user.references.at(-1), other.references.at(-1)] : [];
      const started = await Promise.allSettled([
        start("first-frame", project(), { reference: mine, given }),
        pause(PAIR_APART_MS).then(() =>
          projectActions(other, world).start("first-frame", other.projects.at(-1), { reference: theirs, given }),
        ),
      ]);
      if (random.chance(PAIR_CANCELED)) await cancel();
      for (const one of started) if (one.status === "rejected") throw one.reason;
    },
    deleteProject: async () => {
      if (user.projects.length < 3) return;
      const id = random.pick(user.projects);
      ledger.deletions.push({ id });
      await client.projects.delete(id);
      removeProject(user, id);
    },
    deleteTake: async () => {
      const take = oneOf(user.frames);
      if (!take) return;
      ledger.deletions.push({ id: take.predictionId });
      await client.predictions.delete(take);
      removePrediction(user, take.predictionId);
    },
    upload: async () => {
      const key = crypto.randomUUID();
      const send = () => client.uploadReferenceImage(picture(key), { idempotencyKey: key });
      const made = await twice(user, world, key, "reference", send, ({ referenceImagePath }) => referenceImagePath);
      user.references.push(made.referenceImagePath);
    },
    read: async () => {
      const made = oneOf([...user.open.values()]);
      if (!made) return;
      try {
        for (let reads = random.whole(2, 8); reads > 0; reads--) {
          recordStatus(user, world, await client.predictions.read(made, random.chance(0.1) ? { wait: 1 } : {}));
          await pause(random.whole(20, 300));
        }
      } catch (error) {
        if (codeOf(error) === "not_found") removePrediction(user, made.predictionId);
        throw error;
      }
    },
    list: async () => void (await client.projects.list({ limit: 10, include: "predictions" })),
  };
}

/** The smallest PNG, made different by bytes after its end. */
function picture(mark: string): Uint8Array {
  const pixel = Uint8Array.fromBase64(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
  );
  return Uint8Array.from([...pixel, ...new TextEncoder().encode(mark)]);
}

import type { Step } from "../../shared/contract/fields.ts";
import { endpointActions } from "./endpoint-actions.ts";
import { filmActions } from "./film-actions.ts";
import { pairPrompt, planPrompt } from "./plan.ts";
import {
  codeOf,
  endOfAddress,
  removePrediction,
  removeProject,
  isUnanswered,
  recordStatus,
  poll,
  twice,
} from "./users.ts";
import { pause } from "../../shared/platform/pause.ts";
import type { OwnProject, Start, User, World } from "./world.ts";

/** A user with this many open predictions reads them instead of starting more. */
const MAX_OPEN = 20;
/** The delay between the two starts of a pair, and the share of pairs of which one is cancelled at once. */
const PAIR_APART_MS = 50;
const PAIR_CANCELED = 0.4;

/** A model whose price depends on its input and output. */
const BY_MEGAPIXEL = "black-forest-labs/flux-2-pro";

const WEIGHTS = {
  createProject: 9,
  first: 44,
  last: 14,
  video: 1.2,
  nextShot: 12,
  pair: 3,
  cancel: 6,
  deleteProject: 3,
  upload: 3,
  read: 6,
  poll: 6,
  list: 2,
  changeEndpoint: 3,
  switchEndpoint: 2,
  rotate: 2,
  test: 2,
  redeliver: 4,
  recover: 1,
  replaceEndpoint: 1,
  createFilm: 4,
  orderFilm: 6,
  deleteFilm: 0.3,
  selectTake: 2,
  deleteTake: 4,
} as const;

/** Does one random action of a user. Never throws: the outcome is counted. */
export async function act(user: User, world: World): Promise<void> {
  const name = user.open.size >= MAX_OPEN ? user.random.pick(["read", "poll"] as const) : user.random.weighted(WEIGHTS);
  const actions = { ...projectActions(user, world), ...endpointActions(user, world), ...filmActions(user, world) };
  try {
    await actions[name]();
    world.ledger.count(world.ledger.calls, "ok");
  } catch (error) {
    world.ledger.count(world.ledger.calls, codeOf(error));
  }
}

/** `given`: the prompt. */
type StartOptions = { [Name in "reference" | "given" | "frame" | "model"]?: string | undefined };

function projectActions(user: User, world: World) {
  const { client, random } = user;
  const { ledger } = world;
  const start = async (step: Step, project: OwnProject | undefined, options: StartOptions = {}) => {
    const { reference, given, frame, model } = options;
    if (!project) return;
    const key = crypto.randomUUID();
    const { projectId } = project;
    const prompt = given ?? planPrompt(random, key);
    const body = {
      projectId,
      prompt,
      ...(reference === undefined ? {} : { referenceImagePath: reference }),
      ...(frame === undefined ? {} : { firstFramePredictionId: frame }),
      ...(model === undefined ? {} : { model }),
    };
    const repeat = () => client.generate(step, body, { idempotencyKey: key });
    const entry: Start = {
      ...{ key, ownerId: user.userId, prompt, projectId, step, reference: reference ?? null, repeat },
      outcome: "unanswered",
    };
    ledger.starts.push(entry);
    try {
      const made = await twice(user, world, key, "prediction", repeat, ({ predictionId }) => predictionId);
      entry.outcome = { accepted: made.predictionId };
      user.open.set(made.predictionId, { projectId, step });
      recordStatus(user, world, made);
    } catch (error) {
      if (!isUnanswered(error)) entry.outcome = { refused: codeOf(error) };
      throw error;
    }
  };
  const project = () => (user.projects.length === 0 ? undefined : random.pick(user.projects));
  const cancel = async () => {
    const [predictionId, made] = [...user.open].at(-1) ?? [];
    if (predictionId === undefined || !made) return;
    ledger.canceled.add(predictionId);
    recordStatus(user, world, await client.cancel({ projectId: made.projectId, predictionId }));
  };
  return {
    start,
    createProject: async () => {
      const key = crypto.randomUUID();
      const filmId = random.chance(0.7) ? user.films.at(-1) : undefined;
      const body = { title: key, textPrompt: "A harbour at dawn", ...(filmId === undefined ? {} : { filmId }) };
      const make = () => client.createProject(body, { idempotencyKey: key });
      const { projectId } = await twice(user, world, key, "project", make, (made) => made.projectId);
      user.projects.push({ projectId, hasFirstFrame: false });
    },
    first: () =>
      start("first-frame", project(), {
        reference: random.chance(0.2) ? user.references.at(-1) : undefined,
        model: random.chance(0.1) ? BY_MEGAPIXEL : undefined,
      }),
    last: () => start("last-frame", project()),
    video: () =>
      start(
        "video",
        user.projects.find(({ hasFirstFrame }) => hasFirstFrame),
      ),
    // Starts on the frame of any project, which may be deleted or ordered at the same moment. Mostly a picture: a video takes the
    // simulator a second.
    nextShot: async () => {
      const frame = user.frames.length === 0 ? undefined : random.pick(user.frames).predictionId;
      const step = random.chance(0.1) ? "video" : "last-frame";
      if (frame !== undefined) await start(step, project(), { frame });
    },
    cancel,
    pair: async () => {
      const others = world.users.filter((one) => one !== user && !one.isDeleted && one.projects.length > 0);
      if (others.length === 0) return;
      // The other user's actions here use this user's random numbers, so that the plan stays the same.
      const other = { ...random.pick(others), random };
      const prompt = pairPrompt(crypto.randomUUID());
      const [mine, theirs] = random.chance(0.5) ? [user.references.at(-1), other.references.at(-1)] : [];
      const started = await Promise.allSettled([
        start("first-frame", project(), { reference: mine, given: prompt }),
        pause(PAIR_APART_MS).then(() =>
          projectActions(other, world).start("first-frame", other.projects.at(-1), {
            reference: theirs,
            given: prompt,
          }),
        ),
      ]);
      if (random.chance(PAIR_CANCELED)) await cancel();
      for (const one of started) if (one.status === "rejected") throw one.reason;
    },
    deleteProject: async () => {
      if (user.projects.length < 3) return;
      const gone = random.pick(user.projects);
      ledger.deletedProjects.add(gone.projectId);
      await client.deleteProject(gone.projectId);
      removeProject(user, gone.projectId);
    },
    upload: async () => {
      const key = crypto.randomUUID();
      const image = picture(random.hex());
      const send = () => client.uploadReferenceImage(image, { idempotencyKey: key });
      const made = await twice(user, world, key, "reference", send, ({ referenceImagePath }) => referenceImagePath);
      user.references.push(made.referenceImagePath);
    },
    read: async () => {
      const [predictionId, made] = [...user.open].at(0) ?? [];
      if (predictionId === undefined || !made) return;
      try {
        // A long poll.
        const read = await client.readPrediction({ ...made, predictionId }, { wait: 1 });
        recordStatus(user, world, read);
        const { output } = read;
        if (output) ledger.addresses.push({ stated: output.expiresAt, ends: endOfAddress(output.url) });
      } catch (error) {
        if (codeOf(error) === "not_found") removePrediction(user, predictionId);
        throw error;
      }
    },
    poll: () => poll(user, world),
    list: async () => void (await client.listProjects({ limit: 10, include: "predictions" })),
  };
}

/** The smallest PNG, made different by bytes after its end. */
function picture(mark: string): Uint8Array {
  const pixel = Uint8Array.fromBase64(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
  );
  return Uint8Array.from([...pixel, ...new TextEncoder().encode(mark)]);
}

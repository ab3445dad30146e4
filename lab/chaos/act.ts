import type { Step } from "../../shared/contract/fields.ts";
import { endpointActions } from "./act-endpoints.ts";
import { forget, noteTold, poll } from "./look.ts";
import { pairPrompt, planPrompt } from "./plan-prompts.ts";
import { endOfAddress } from "./signed-address.ts";
import { codeOf, type Film, isUnanswered, type User } from "./user.ts";
import { pause, type World } from "./world.ts";

/** So many predictions of a user are left open; then that user looks at them instead of starting more. */
const MOST_OPEN = 20;
/** One POST in so many is sent twice at the same moment, with the same key. */
const TWICE = 0.15;
/** Two users start the same so far apart. So often one of them cancels at once. */
const PAIR_APART_MS = 50;
const PAIR_CANCELED = 0.4;

const WEIGHTS = {
  createProject: 9,
  first: 44,
  last: 14,
  video: 1.2,
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
} as const;

/** One thing a user does, by chance. Never throws: what came of it is counted. */
export async function act(user: User, world: World): Promise<void> {
  const name = user.open.size >= MOST_OPEN ? user.dice.pick(["read", "poll"] as const) : user.dice.weighted(WEIGHTS);
  const actions = { ...projectActions(user, world), ...endpointActions(user, world) };
  try {
    await actions[name]();
    world.ledger.count(world.ledger.calls, "ok");
  } catch (error) {
    world.ledger.count(world.ledger.calls, codeOf(error));
  }
}

function projectActions(user: User, world: World) {
  const { client, dice } = user;
  const { ledger } = world;
  const start = async (step: Step, film: Film | undefined, reference?: string, given?: string) => {
    if (!film) return;
    const key = crypto.randomUUID();
    const { projectId } = film;
    const prompt = given ?? planPrompt(dice, key);
    const body = { projectId, prompt, ...(reference === undefined ? {} : { referenceImagePath: reference }) };
    const repeat = () => client.generate(step, body, { idempotencyKey: key });
    const noted = {
      key,
      prompt,
      projectId,
      step,
      reference: reference ?? null,
      repeat,
      outcome: "unanswered" as const,
    };
    const entry: (typeof ledger.starts)[number] = noted;
    ledger.starts.push(entry);
    try {
      const made = await twice(user, world, key, "prediction", repeat, ({ predictionId }) => predictionId);
      entry.outcome = { accepted: made.predictionId };
      user.open.set(made.predictionId, { projectId, step });
      noteTold(user, world, made);
    } catch (error) {
      if (!isUnanswered(error)) entry.outcome = { refused: codeOf(error) };
      throw error;
    }
  };
  const film = () => (user.films.length === 0 ? undefined : dice.pick(user.films));
  const cancel = async () => {
    const [predictionId, made] = [...user.open].at(-1) ?? [];
    if (predictionId === undefined || !made) return;
    ledger.canceled.add(predictionId);
    noteTold(user, world, await client.cancel({ projectId: made.projectId, predictionId }));
  };
  return {
    start,
    createProject: async () => {
      const key = crypto.randomUUID();
      const make = () => client.createProject({ title: key, textPrompt: "A harbour at dawn" }, { idempotencyKey: key });
      const { projectId } = await twice(user, world, key, "project", make, (made) => made.projectId);
      user.films.push({ projectId, hasFirstFrame: false });
    },
    first: () => start("first-frame", film(), dice.chance(0.2) ? user.references.at(-1) : undefined),
    last: () => start("last-frame", film()),
    video: () =>
      start(
        "video",
        user.films.find(({ hasFirstFrame }) => hasFirstFrame),
      ),
    cancel,
    pair: async () => {
      const others = world.users.filter((one) => one !== user && !one.gone && one.films.length > 0);
      if (others.length === 0) return;
      // What the other does here is left to this user's chance.
      const other = { ...dice.pick(others), dice };
      const prompt = pairPrompt(crypto.randomUUID());
      const [mine, theirs] = dice.chance(0.5) ? [user.references.at(-1), other.references.at(-1)] : [];
      const started = await Promise.allSettled([
        start("first-frame", film(), mine, prompt),
        pause(PAIR_APART_MS).then(() =>
          projectActions(other, world).start("first-frame", other.films.at(-1), theirs, prompt),
        ),
      ]);
      if (dice.chance(PAIR_CANCELED)) await cancel();
      for (const one of started) if (one.status === "rejected") throw one.reason;
    },
    deleteProject: async () => {
      if (user.films.length < 3) return;
      const gone = dice.pick(user.films);
      ledger.deletedProjects.add(gone.projectId);
      await client.deleteProject(gone.projectId);
      user.films = user.films.filter((one) => one !== gone);
      for (const [id, { projectId }] of user.open) if (projectId === gone.projectId) user.open.delete(id);
    },
    upload: async () => {
      const key = crypto.randomUUID();
      const image = picture(dice.mark());
      const send = () => client.uploadReferenceImage(image, { idempotencyKey: key });
      const made = await twice(user, world, key, "reference", send, ({ referenceImagePath }) => referenceImagePath);
      user.references.push(made.referenceImagePath);
    },
    read: async () => {
      const [predictionId, made] = [...user.open].at(0) ?? [];
      if (predictionId === undefined || !made) return;
      try {
        // Held a little: a user who waits.
        const read = await client.readPrediction({ ...made, predictionId }, { wait: 1 });
        noteTold(user, world, read);
        const { output } = read;
        if (output) ledger.addresses.push({ told: output.expiresAt, ends: endOfAddress(output.url) });
      } catch (error) {
        if (codeOf(error) === "not_found") forget(user, predictionId);
        throw error;
      }
    },
    poll: () => poll(user, world),
    list: async () => void (await client.listProjects({ limit: 10, include: "predictions" })),
  };
}

/** Sends a POST, now and then twice at once with the same key, and notes which thing each answer named. */
async function twice<Made>(
  { dice }: User,
  { ledger }: World,
  key: string,
  what: string,
  send: () => Promise<Made>,
  idOf: (made: Made) => string,
): Promise<Made> {
  const other = dice.chance(TWICE) ? send().catch(() => undefined) : undefined;
  const made = await send();
  ledger.answers.push({ key, what, id: idOf(made) });
  const also = await other;
  if (also !== undefined) ledger.answers.push({ key, what, id: idOf(also) });
  return made;
}

/** The smallest PNG there is, made different by a text that no reader shows. */
function picture(mark: string): Uint8Array {
  const pixel = Uint8Array.fromBase64(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
  );
  const bytes = new Uint8Array(pixel.length + mark.length);
  bytes.set(pixel);
  bytes.set(new TextEncoder().encode(mark), pixel.length);
  return bytes;
}

import type postgres from "postgres";
import { changeMarkups, changePrices, shiftTime } from "../../../lab/chaos/database-faults.ts";
import type { Step } from "../database/predictions.ts";
import { addReference } from "../database/user.ts";
import { isOver } from "./provider.ts";
import {
  addCredit,
  addProject,
  ask,
  MODELS,
  type Quote,
  refusalIn,
  type Request,
  send,
  type Take,
  type User,
  type Walk,
} from "./walk.ts";
import { callBack, claimInto, deliver, proceed, recordDeliveries, removeFile } from "./workers.ts";

/** What happens, and which of the things that are there it is about. */
export type Action = { what: keyof typeof ACTIONS; a: number; b: number; c: number };

const pick = <T>(list: readonly T[], number: number): T | undefined => list[number % Math.max(1, list.length)];
const STEPS: Step[] = ["first-frame", "video", "last-frame"];
let last = 0;
/** Names in the order in which they were made. */
const next = (name: string) => `${name}-${++last}`;
const withUser = (walk: Walk, number: number): User | undefined => {
  const user = pick(walk.users, number);
  return user?.isDeleted ? undefined : user;
};

const takesOf = (user: User, key: string, prompt: string, projects: string[]): Take[] =>
  projects.map((project_id) => ({ key, owner_id: user.id, project_id, prompt, prediction_id: null, refusal: null }));

/** A prediction of a user. */
async function predictionOf({ db }: Walk, user: User, number: number, where = "true") {
  const rows = await db.sql.unsafe<{ id: string; project_id: string; step: Step }[]>(
    `select id, project_id, step from keyframe.predictions where owner_id = $1 and ${where} order by created_at, id`,
    [user.id],
  );
  return pick(rows, number);
}

async function startTakes(walk: Walk, { a, b, c }: Action): Promise<void> {
  const user = withUser(walk, a);
  const project_id = user && pick(user.projects, b);
  if (!user || !project_id) return;
  const key = next("start");
  const step = pick(STEPS, c) ?? "video";
  const count = c % 4 === 0 ? (c % 3) + 1 : null;
  const input = { prompt: key };
  const args = { project_id, step, input, model: pick(MODELS[step], b), count, idempotency_key: key };
  const takes = takesOf(user, key, key, Array(count ?? 1).fill(project_id));
  const request: Request = {
    user,
    name: "start_prediction",
    key,
    prompt: key,
    args: { ...args, request_hash: "a".repeat(64) },
    takes,
  };
  walk.requests.push(request);
  walk.starts.push(...takes);
  await send(walk, request);
}

async function startFilm(walk: Walk, { a, c }: Action): Promise<void> {
  const user = withUser(walk, a);
  if (!user) return;
  const key = next("film");
  const args = { film_id: user.film, step: pick(STEPS, c), input: { prompt: key }, outdated: c % 2 === 0 };
  const keyed = { ...args, idempotency_key: key, request_hash: "b".repeat(64) };
  const request: Request = { user, name: "start_film", key, prompt: key, args: keyed, takes: [] };
  walk.requests.push(request);
  await send(walk, request);
}

async function quote(walk: Walk, { a, b, c }: Action): Promise<void> {
  const user = withUser(walk, a);
  const project = user && pick(user.projects, b);
  if (!user || !project) return;
  const prompt = next("quote");
  const step = pick(STEPS, c) ?? "video";
  const ofFilm = c % 5 === 0;
  const count = c % 4 === 0 ? 2 : 1;
  const args = ofFilm ? { film_id: user.film } : { project_id: project, ...(count > 1 && { count }) };
  const name = ofFilm ? "estimate_film" : "estimate_prediction";
  const answer = await ask<{ estimate: { quoteId: string | null; atMostMicros: number } }>(walk, user, name, {
    ...{ ...args, step, input: { prompt }, model: pick(MODELS[step], b), quote: true },
  });
  if (answer === null || typeof answer === "string" || answer.estimate.quoteId === null) return;
  const { quoteId: id, atMostMicros: micros } = answer.estimate;
  walk.quotes.push({ user, id, micros, prompt, projects: ofFilm ? [] : Array(count).fill(project) });
}

/** For the user who asked, at its price, once: for others or at another price it starts nothing. */
async function startQuote(walk: Walk, { a, b, c }: Action): Promise<void> {
  const quoted = pick(walk.quotes, a);
  if (!quoted || quoted.user.isDeleted) return;
  if (c % 6 === 0) {
    const other = pick(walk.users, walk.users.indexOf(quoted.user) + 1 + (b % 2));
    const wrong = c % 12 === 0 || !other || other.isDeleted;
    const args = { quote_id: quoted.id, at_most_micros: quoted.micros + (wrong ? 1 : 0) };
    const answer = await ask(walk, wrong || !other ? quoted.user : other, "start_quote", args);
    if (typeof answer === "object" && answer !== null)
      throw new Error(`A quote was started by ${JSON.stringify(args)}.`);
    return;
  }
  const key = `quote:${quoted.id}`;
  let request = walk.requests.find((one) => one.key === key);
  if (!request) {
    const takes = takesOf(quoted.user, key, quoted.prompt, quoted.projects);
    walk.starts.push(...takes);
    const args = { quote_id: quoted.id, at_most_micros: quoted.micros };
    request = { user: quoted.user, name: "start_quote", key, prompt: quoted.prompt, args, takes };
    walk.requests.push(request);
  }
  await send(walk, request);
  await requirePrice(walk, quoted, request.takes);
}

async function requirePrice({ db }: Walk, quoted: Quote, takes: Take[]): Promise<void> {
  const ids = takes.flatMap(({ prediction_id }) => prediction_id ?? []);
  const [held] = await db.sql<{ micros: string }[]>`
    select coalesce(sum(most_charge_micros), 0) as micros from keyframe_private.provider_submits
    where prediction_id = any (${ids}) and is_first`;
  if (Number(held?.micros) > quoted.micros) throw new Error(`A quote of ${quoted.micros} holds ${held?.micros}.`);
}

async function again(walk: Walk, { a }: Action): Promise<void> {
  const request = pick(walk.requests, a);
  if (request && !request.user.isDeleted) await send(walk, request);
}

/** What only the owner may do, by the owner or by somebody else, who is told that it is not there. */
async function ofOwner(walk: Walk, owner: User, number: number, name: string, args: Record<string, unknown>) {
  const other = number % 5 === 0 ? pick(walk.users, walk.users.indexOf(owner) + 1) : undefined;
  if (!other || other.isDeleted) return await ask(walk, owner, name, args);
  const answer = await ask(walk, other, name, args);
  if (answer !== "not_found" && answer !== null)
    throw new Error(`${name} of another user's: ${JSON.stringify(answer)}`);
  return null;
}

/** What each does. Most find nothing to do while the walk is young. */
export const ACTIONS = {
  startTakes,
  startFilm,
  quote,
  startQuote,
  again,
  cancel: async (walk: Walk, { a, b, c }: Action) => {
    const user = withUser(walk, a);
    const of = user && (await predictionOf(walk, user, b));
    if (of) await ofOwner(walk, user, c, "cancel_prediction", { project_id: of.project_id, prediction_id: of.id });
  },
  read: async (walk: Walk, { a, b, c }: Action) => {
    const user = withUser(walk, a);
    const of = user && (await predictionOf(walk, user, b));
    if (!of) return;
    const args = { project_id: of.project_id, prediction_id: of.id, step: of.step };
    const answer = await ofOwner(walk, user, c, "read_prediction", args);
    if (answer === null || typeof answer === "string") return;
    const { status } = (answer as { prediction: { status: string } }).prediction;
    // Of what happens at the same moment nobody can say which was first.
    walk.statuses.push({
      n: walk.statuses.length,
      reader: walk.workers[c % 3]?.id ?? "",
      prediction_id: of.id,
      status,
    });
  },
  hide: async (walk: Walk, { a, b, c }: Action) => {
    const user = withUser(walk, a);
    const of = user && (await predictionOf(walk, user, b));
    const changes = { hidden: c % 2 === 0 };
    if (of)
      await ofOwner(walk, user, c, "update_prediction", { project_id: of.project_id, prediction_id: of.id, changes });
  },
  /** The picture on which a video ends, for the shot that continues it. */
  storeEnd: async (walk: Walk, { a, b }: Action) => {
    const user = withUser(walk, a);
    const of =
      user && (await predictionOf(walk, user, b, "step = 'video' and status = 'succeeded' and end_image_path is null"));
    if (!of) return;
    const path = await addReference(walk.db, user.id);
    const name = path.slice("projects/".length);
    const changes = { end_image_path: path };
    const answer = await ask(walk, user, "update_prediction", {
      project_id: of.project_id,
      prediction_id: of.id,
      changes,
    });
    if (typeof answer === "object" && answer !== null)
      walk.files.set(path, { bucket: "projects", name, bytes: 1, sha256: "" });
    else await removeFile(walk, "projects", name);
  },
  deletePrediction: async (walk: Walk, { a, b, c }: Action) => {
    const user = withUser(walk, a);
    const of = user && (await predictionOf(walk, user, b));
    if (!of) return;
    walk.deletions.push({ id: of.id });
    await ofOwner(walk, user, c, "delete_prediction", { project_id: of.project_id, prediction_id: of.id });
  },
  createProject: async (walk: Walk, { a }: Action) => {
    const user = withUser(walk, a);
    if (!user) return;
    const added = addProject(walk.db, user.id, next("Project"), user.film, true);
    await added.then((id) => user.projects.push(id)).catch(refusalIn); // its account may be deleted meanwhile
  },
  /** By its user, which a running prediction forbids, or by an administrator. */
  deleteProject: async (walk: Walk, { a, b, c }: Action) => {
    const user = withUser(walk, a);
    const project_id = user && pick(user.projects, b);
    if (!user || !project_id) return;
    walk.deletions.push({ id: project_id });
    if (c % 2 === 0) await walk.db.sql`delete from keyframe.projects where id = ${project_id}`;
    else await ask(walk, user, "delete_project", { project_id });
  },
  deleteAccount: async (walk: Walk, { a, c }: Action) => {
    const user = withUser(walk, a);
    if (!user || c % 2 > 0) return;
    user.isDeleted = true;
    await walk.db.sql`delete from auth.users where id = ${user.id}`;
  },
  changePlan: async (walk: Walk, { a, b, c }: Action) => {
    const user = withUser(walk, a);
    const project_id = user && pick(user.projects, b);
    if (!user || !project_id) return;
    const video = { model: "prunaai/p-video", durationSeconds: 5, continuesPreviousShot: c % 2 === 0 };
    await ask(walk, user, "update_project", { project_id, changes: { plan: { video } } });
  },
  orderShots: async (walk: Walk, { a, c }: Action) => {
    const user = withUser(walk, a);
    const project_ids = user?.projects.slice(0, (c % 3) + 1).toReversed();
    if (user) await ask(walk, user, "update_film", { film_id: user.film, project_ids });
  },
  claim: (walk: Walk, { a, c }: Action) => withWorker(walk, a, (worker) => claimInto(walk, worker, (c % 4) * 3 + 1)),
  /** The next part of what a worker has, also when its lease has gone. */
  work: (walk: Walk, { a, b, c }: Action) =>
    withWorker(walk, a, async (worker) => {
      const held = pick(worker.tasks, b);
      if (held) await proceed(walk, worker, held, c % 12);
    }),
  /** A worker claims, and does all that it has; each part of it well, or each in one of the ways to fail. */
  workAll: (walk: Walk, { a, b, c }: Action) =>
    withWorker(walk, a, async (worker) => {
      if (b % 3 > 0) await claimInto(walk, worker, 10);
      for (let held = worker.tasks[0]; held; held = worker.tasks[0])
        await proceed(walk, worker, held, b % 2 ? c % 12 : 0);
    }),
  advance: async (walk: Walk, { a, c }: Action) => {
    const run = pick(
      walk.provider.runs.filter((one) => !isOver(one)),
      a,
    );
    if (run) walk.provider.advance(run, c);
  },
  /** Of now, or late; once, or twice at the same moment; seldom with an address that names another prediction. */
  callBack: async (walk: Walk, { a, b, c }: Action) => {
    const run = pick(walk.provider.runs, a);
    const named = c % 7 === 0 ? pick(walk.starts, b)?.prediction_id : run?.prediction;
    if (!run || !named) return;
    const state = b % 2 === 0 ? run.states.length - 1 : c;
    const twice = c % 3 === 0 ? [0, 1] : [0];
    await Promise.all(twice.map(() => callBack(walk, run, state, named)));
  },
  deliver: (walk: Walk, { a, b, c }: Action) =>
    withWorker(walk, a, (worker) => deliver(walk, worker, (b % 5) + 1, c % 3)),
  recordDeliveries: (walk: Walk, { a, c }: Action) =>
    withWorker(walk, a, (worker) => recordDeliveries(walk, worker, c % 4 === 0)),
  /** Two minutes pass: leases expire, and what a worker has not sent is never sent. */
  wait: async (walk: Walk) => {
    for (const worker of walk.workers)
      worker.tasks = worker.tasks.filter(({ task, run }) => !["submit", "search", "store"].includes(task.task) || run);
    await shiftTime(walk.db.sql, 120);
  },
  sweep: async ({ db }: Walk, { c }: Action) => {
    await db.sql`select keyframe_private.sweep()`;
    if (c % 2 === 0) await db.sql`select keyframe_private.merge_costs(${(c % 5) + 1})`;
    if (c % 3 === 0) await db.sql`select keyframe_private.prune()`;
  },
  credit: async (walk: Walk, { a, c }: Action) => {
    const [, , user] = walk.users;
    if (!user) return;
    const known = pick(walk.credits, a);
    if (c % 3 === 0 && known)
      return await addCredit(walk, known.owner_id, known.micros, known.micros > 0 ? "purchase" : "refund", known.key);
    const micros = c % 4 === 0 ? -50_000 : 100_000;
    const key = next("credit");
    const twice = [0, 1].map(() => addCredit(walk, user.id, micros, micros > 0 ? "purchase" : "refund", key));
    await Promise.all(c % 2 === 0 ? twice : twice.slice(0, 1));
  },
  changePrices: ({ db }: Walk, { c }: Action) => changePrices(db.sql, (c % 2) + 2),
  changeMarkups: ({ db }: Walk, { a, c }: Action) => changeMarkups(db.sql, 1 + (a % 3) * 0.3, c % 2 ? 1.5 : null),
  stopSpending: ({ db }: Walk, { c }: Action) =>
    db.sql`update keyframe_private.settings set spending_stopped = ${c % 4 === 0}`,
} satisfies Record<string, (walk: Walk, action: Action) => PromiseLike<unknown>>;

function withWorker(walk: Walk, number: number, work: (worker: Walk["workers"][number]) => Promise<unknown>) {
  const worker = pick(walk.workers, number);
  return worker ? work(worker) : Promise.resolve();
}

/** What an open transaction may hold while others act. */
export const HOLDS: ((sql: postgres.TransactionSql, owner: string) => Promise<unknown>)[] = [
  (sql, owner) => sql`select from keyframe.predictions where owner_id = ${owner} for update`,
  (sql, owner) => sql`select from keyframe.projects where owner_id = ${owner} for update`,
  (sql, owner) => sql`select from keyframe_private.provider_submits where owner_id = ${owner} for update`,
  (sql, owner) => sql`select from keyframe_private.work where owner_id = ${owner} for update`,
  (sql, owner) => sql`select from keyframe_private.cost_changes where owner_id = ${owner} for update`,
  (sql, owner) => sql`select from keyframe_private.cost_sums where owner_id = ${owner} for update`,
  (sql, owner) => sql`select from keyframe.webhook_endpoints where owner_id = ${owner} for update`,
  (sql, owner) => sql`select keyframe_private.acquire_lock('slots', ${owner})`,
  (sql) => sql`select from keyframe.models for update`,
  (sql) => sql`update keyframe_private.settings set max_failures = max_failures`,
];

import postgres from "postgres";
import type { Task } from "../database/calls.ts";
import type { ClonedDatabase } from "../database/clone-database.ts";
import type { Step } from "../database/predictions.ts";
import { addEndpoint, call, type Leased } from "../database/webhooks.ts";
import { type Run, WalkProvider } from "./provider.ts";

/** A start as its user knows it: one for each take. */
export type Take = {
  key: string;
  owner_id: string;
  project_id: string;
  prompt: string;
  prediction_id: string | null;
  refusal: string | null;
};

/** A request with a key, which can be sent again. */
export type Request = {
  user: User;
  name: string;
  key: string;
  prompt: string;
  args: Record<string, unknown>;
  takes: Take[];
};

export type Quote = { user: User; id: string; micros: number; prompt: string; projects: string[] };

/** A task that a worker holds. `run`: the provider has made it. */
export type Held = { task: Task; isBegun: boolean; run: Run | null };

export type User = { id: string; film: string; projects: string[]; isDeleted: boolean };

type UUID = ReturnType<typeof crypto.randomUUID>;

/** What users, workers, the provider and receivers know. Its lists become the tables that the invariants compare with ours. */
export type Walk = {
  db: ClonedDatabase;
  users: User[];
  requests: Request[];
  quotes: Quote[];
  workers: { id: UUID; tasks: Held[]; deliveries: Leased[]; outcomes: Map<Leased, number> }[];
  provider: WalkProvider;
  files: Map<string, { bucket: string; name: string; bytes: number; sha256: string }>;
  starts: Take[];
  answers: { key: string; what: string; id: string; owner_id: string }[];
  deletions: { id: string }[];
  statuses: { n: number; reader: string; prediction_id: string; status: string }[];
  credits: { key: string; owner_id: string; micros: number }[];
  arrivals: Map<string, Arrival>;
};
type Arrival = { hook: string; event_id: string; type: string; body_md5: string; taken: number; misbehaved: number };

export const MODELS: Record<Step, string[]> = {
  "first-frame": ["google/nano-banana-2", "google/nano-banana"],
  "last-frame": ["google/nano-banana-2", "google/nano-banana"],
  video: ["prunaai/p-video"],
};
/** By the shipped prices: of an image, or of five seconds in 720p. */
export const MICROS: Record<string, number> = {
  "google/nano-banana-2": 67_000,
  "google/nano-banana": 39_000,
  "prunaai/p-video": 100_000,
};
export const SLOTS = 2;
/** Of the second user, for a month. */
export const BUDGET = 400_000;

/**
 * Three users, each with a film of two shots, of which the second continues the first, and a project. The first user has no limit, the
 * second a budget, the third a balance.
 */
export async function openWalk(db: ClonedDatabase): Promise<Walk> {
  await db.sql`
    update keyframe_private.settings set spending_stopped = false, max_active_per_owner = ${SLOTS}, max_failures = 3, markup = 1,
      poll_interval = '1 second', retry_base = '1 second', retry_max = '20 seconds', webhook_retry_schedule = '{5s,5s,5s}'`;
  await db.sql`delete from keyframe_private.rate_limits where route_class = 'generate'`; // its tokens make an owner's starts take turns
  await addEndpoint(db.sql, null, { url: "https://receiver.example/hooks/steady-crm" });
  const users = await Promise.all([0, 1, 2].map((number) => addUser(db, number)));
  const [, second, third] = users.map(({ id }) => id);
  await db.sql`insert into keyframe_private.owner_budgets (owner_id, month_micros) values (${second ?? ""}, ${BUDGET})`;
  const walk: Walk = {
    ...{ db, users, requests: [], quotes: [], provider: new WalkProvider(), files: new Map(), arrivals: new Map() },
    workers: [0, 1, 2].map(() => ({ id: crypto.randomUUID(), tasks: [], deliveries: [], outcomes: new Map() })),
    ...{ starts: [], answers: [], deletions: [], statuses: [], credits: [] },
  };
  await addCredit(walk, third ?? "", 300_000, "purchase", "first");
  return walk;
}

async function addUser(db: ClonedDatabase, number: number): Promise<User> {
  const id = await db.addUser();
  await addEndpoint(db.sql, id, { url: `https://receiver.example/hooks/steady-${number}` });
  const { film } = await call<{ film: { id: string } }>(db, id, "create_film", { title: `Film ${number}` });
  const projects: string[] = [];
  for (const shot of [0, 1, 2])
    projects.push(await addProject(db, id, `Project ${number}.${shot}`, shot < 2 ? film.id : null, shot === 1));
  return { id, film: film.id, projects, isDeleted: false };
}

/** A project, the last shot of a film if one is given; its video may continue the shot before. Its id. */
export async function addProject(
  db: ClonedDatabase,
  owner: string,
  title: string,
  film_id: string | null,
  continuesPreviousShot: boolean,
): Promise<string> {
  const plan = { video: { model: "prunaai/p-video", durationSeconds: 5, continuesPreviousShot } };
  const args = { title, text_prompt: "A pier", plan, ...(film_id && { film_id }) };
  return (await call<{ project: { id: string } }>(db, owner, "create_project", args)).project.id;
}

/** What a request comes to: its answer, the code of its refusal, or null when a lock was not to be had. Anything else is thrown. */
export async function ask<T extends object>(
  { db }: Walk,
  user: User,
  name: string,
  args: Record<string, unknown>,
): Promise<T | string | null> {
  try {
    return await call<T>(db, user.id, name, args as Record<string, string>); // postgres.js takes lists and objects too
  } catch (error) {
    return refusalIn(error);
  }
}

export function refusalIn(error: unknown): string | null {
  if (!(error instanceof postgres.PostgresError)) throw error;
  if (error.code === "KEYFR") return error.message;
  if (error.code === "55P03") return null;
  // The session of an account that is being deleted: the API answers 401.
  if (error.code === "23503" && error.constraint_name?.endsWith("owner_id_fkey")) return "unauthorized";
  throw error;
}

/** Sends a request, for the first time or again, and notes what its user learns. */
export async function send(walk: Walk, request: Request): Promise<void> {
  const { user, name, key, prompt, args, takes } = request;
  type Started = { id: string; project_id: string };
  type Answer = { prediction?: Started; predictions?: Started[] | null; replayed: boolean };
  const answer = await ask<Answer>(walk, user, name, args);
  if (answer === null) return;
  if (typeof answer === "string") {
    for (const take of takes) if (take.prediction_id === null) take.refusal = answer;
    return;
  }
  const started = answer.predictions ?? (answer.prediction ? [answer.prediction] : []);
  if (started.length === Math.max(1, takes.length) && started[0])
    walk.answers.push({ key, what: name, id: started[0].id, owner_id: user.id });
  if (answer.replayed) return;
  for (const [at, { id, project_id }] of started.entries()) {
    // Of a film, each shot is a start.
    takes[at] ??= {
      key: `${key} ${project_id}`,
      owner_id: user.id,
      project_id,
      prompt,
      prediction_id: null,
      refusal: null,
    };
    const take = takes[at];
    if (take.prediction_id !== null) throw new Error(`The key ${key} started ${take.prediction_id}, and then ${id}.`);
    Object.assign(take, { prediction_id: id, refusal: null });
    if (!walk.starts.includes(take)) walk.starts.push(take);
  }
}

/** Adds credit as a server does that repeats itself. */
export async function addCredit(walk: Walk, owner: string, micros: number, kind: string, key: string): Promise<void> {
  await walk.db.sql`select keyframe_worker.add_credit(${owner}, ${micros}, ${kind}, ${key})`;
  if (!walk.credits.some((credit) => credit.owner_id === owner && credit.key === key))
    walk.credits.push({ key, owner_id: owner, micros });
}

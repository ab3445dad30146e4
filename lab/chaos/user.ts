import { createClient } from "@supabase/supabase-js";
import {
  createKeyframeClient,
  type KeyframeClient,
  KeyframeError,
  type PredictionStatus,
  type Step,
} from "../../client/index.ts";
import { createDice, type Dice } from "./dice.ts";
import type { ToldEnd } from "./receivers.ts";
import type { World } from "./world.ts";

/** What an answer told of a prediction. */
export type Told = { projectId: string; step: Step; status: PredictionStatus; tag: string | null };

type UserFetch = (url: string, init: RequestInit) => Promise<Response>;

/** What a user knows of one of their projects. */
export type Film = { projectId: string; hasFirstFrame: boolean };

/** An endpoint of a user. A steady one is never changed, so every event of its owner is owed to it. */
export type Listener = { slot: string; webhookId: string; steady: boolean; enabled: boolean };

/** One signed-in user of a run: a client, chance of their own, and what they remember. */
export type User = {
  userId: string;
  client: KeyframeClient;
  token: string;
  /** As the client sends its requests. */
  fetch: UserFetch;
  dice: Dice;
  films: Film[];
  references: string[];
  listeners: Listener[];
  /** Predictions that are not known to have ended. */
  open: Map<string, { projectId: string; step: Step }>;
  /** What the user was last told of each prediction, with the tag of that answer where there was one. */
  told: Map<string, Told>;
  /** The account has been deleted, or is about to be: nothing new is begun. */
  gone: boolean;
  /** What the user is doing. */
  busy: Promise<void>;
};

/** Signs a user up; they use the API through the typed client. */
export async function newUser(world: World, seed: number, number: number): Promise<User> {
  const { stack, clients } = world;
  const dice = createDice(`user ${number} of ${seed}`);
  const auth = createClient(stack.url, stack.keys.publishableKey, {
    auth: { persistSession: false, autoRefreshToken: false },
  }).auth;
  const email = `chaos-${number}@keyframe.local`;
  const password = `film-${seed}-${number}`;
  const signedUp = await auth.signUp({ email, password });
  // An earlier try may have come through without an answer.
  const { data, error } = signedUp.error ? await auth.signInWithPassword({ email, password }) : signedUp;
  if (error || !data.session) throw new Error(`User ${number} could not sign up: ${error?.message ?? "no session"}`);
  const { access_token: token, user } = data.session;
  const fetchHere = byDetour(world);
  const client = createKeyframeClient({
    url: stack.url,
    apikey: stack.keys.publishableKey,
    getToken: () => token,
    requestTimeoutMs: 20_000,
    random: dice.number,
    fetch: fetchHere,
  });
  clients.set(user.id, client);
  const nothing = { films: [], references: [], listeners: [], open: new Map(), told: new Map() };
  return { userId: user.id, client, token, fetch: fetchHere, dice, ...nothing, gone: false, busy: Promise.resolve() };
}

/** Sends every second request to the other process of `api`, while there is one, and notes what the API could not serve. */
function byDetour(world: World): UserFetch {
  const usual = `${world.stack.url}/functions/v1`;
  let requests = 0;
  return async (url, init) => {
    requests += 1;
    const isDetour = world.apiDetour !== null && requests % 2 === 0;
    const response = await fetch(isDetour ? url.replace(usual, world.apiDetour ?? usual) : url, init);
    const { status, headers } = response;
    // What the gateway says while it starts a function is the platform's.
    if (status >= 500 && !headers.has("sb-error-code")) {
      world.ledger.refusals.push({ status, retryAfter: headers.has("retry-after") });
    }
    return response;
  };
}

/** Lets a user know what a receiver was told. */
export function noteEnd(user: User, { predictionId, projectId, step, succeeded }: ToldEnd): void {
  user.open.delete(predictionId);
  const film = user.films.find((one) => one.projectId === projectId);
  if (film && succeeded && step === "first-frame") film.hasFirstFrame = true;
}

/** The code of an error, for counting. */
export const codeOf = (error: unknown): string => (error instanceof KeyframeError ? error.code : String(error));

/** Whether nobody knows what came of a request: it may have been carried out. */
export const isUnanswered = (error: unknown): boolean =>
  !(error instanceof KeyframeError) || ["network", "unavailable", "internal", "not_an_envelope"].includes(error.code);

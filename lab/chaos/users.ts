import { createClient } from "@supabase/supabase-js";
import { createKeyframeClient, KeyframeError } from "../../client/index.ts";
import { readAnswer } from "../../client/read-answer.ts";
import { type Prediction, prediction, type PredictionStatus } from "../../shared/contract/predictions.ts";
import { createRandom } from "./random.ts";
import type { EndedPrediction } from "./receivers.ts";
import { pause } from "../../shared/platform/pause.ts";
import type { User, UserFetch, World } from "./world.ts";

/** Signs a user up; they use the API through the typed client. */
export async function newUser(world: World, seed: number, number: number): Promise<User> {
  const { stack, clients } = world;
  const random = createRandom(`user ${number} of ${seed}`);
  const auth = createClient(stack.url, stack.keys.publishableKey, {
    auth: { persistSession: false, autoRefreshToken: false },
  }).auth;
  const email = `chaos-${number}@keyframe.local`;
  const password = `project-${seed}-${number}`;
  const signedUp = await auth.signUp({ email, password });
  // An earlier try may have succeeded without an answer.
  const { data, error } = signedUp.error ? await auth.signInWithPassword({ email, password }) : signedUp;
  if (error || !data.session) throw new Error(`User ${number} could not sign up: ${error?.message ?? "no session"}`);
  const { access_token: token, user } = data.session;
  const fetchHere = throughSecondApi(world);
  const client = createKeyframeClient({
    url: stack.url,
    apikey: stack.keys.publishableKey,
    getToken: () => token,
    requestTimeoutMs: 20_000,
    random: random.number,
    fetch: fetchHere,
  });
  clients.set(user.id, client);
  return {
    ...{ userId: user.id, client, token, fetch: fetchHere, random },
    ...{ projects: [], films: [], frames: [], references: [], endpoints: [], open: new Map(), lastAnswers: new Map() },
    ...{ isDeleted: false, busy: Promise.resolve() },
  };
}

/** Sends every second request to the second process of `api` while there is one, and records 5xx answers. */
function throughSecondApi(world: World): UserFetch {
  const usual = `${world.stack.url}/functions/v1`;
  let requests = 0;
  return async (url, init) => {
    requests += 1;
    const isDetour = world.secondApiOrigin !== null && requests % 2 === 0;
    const response = await fetch(isDetour ? url.replace(usual, world.secondApiOrigin ?? usual) : url, init);
    const { status, headers } = response;
    // An answer with sb-error-code is the gateway's, while it starts a function.
    if (status >= 500 && !headers.has("sb-error-code")) {
      world.ledger.refusals.push({ status, retryAfter: headers.has("retry-after") });
    }
    return response;
  };
}

/** Records the end that a receiver got. */
export function recordEnd(user: User, { predictionId, projectId, step, succeeded }: EndedPrediction): void {
  user.open.delete(predictionId);
  const project = user.projects.find((one) => one.projectId === projectId);
  if (project && succeeded && step === "first-frame") project.hasFirstFrame = true;
  if (project && succeeded && (step === "first-frame" || step === "last-frame"))
    user.frames.push({ projectId, predictionId, step });
}

/** The code of an error, for the counts. */
export const codeOf = (error: unknown): string => (error instanceof KeyframeError ? error.code : String(error));

/** Whether the outcome of a request is unknown: it may have been carried out. */
export const isUnanswered = (error: unknown): boolean =>
  !(error instanceof KeyframeError) || ["network", "unavailable", "internal", "not_an_envelope"].includes(error.code);

const TIMEOUT_MS = 20_000;
/** Shorter than Retry-After asks for. */
const SHORTEST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 300;

export const hasEnded = (status: PredictionStatus): boolean => ["succeeded", "failed", "canceled"].includes(status);

/** Records the status that a user got. */
export function recordStatus(user: User, { ledger }: World, made: Prediction, tag: string | null = null): void {
  const { predictionId, projectId, step, status } = made;
  user.lastAnswers.set(predictionId, { projectId, step, status, tag });
  if (hasEnded(status)) user.open.delete(predictionId);
  ledger.statusAnswers.push({ reader: user.userId, predictionId, status, code: 200 });
}

/** Polls a prediction once, with the last answer's ETag when `useTag` is set and there is one. Throws KeyframeError. */
export async function pollOnce(user: User, world: World, predictionId: string, useTag: boolean): Promise<void> {
  const known = user.lastAnswers.get(predictionId);
  if (!known) return;
  const { stack, ledger } = world;
  const tag = useTag ? known.tag : null;
  const query = new URLSearchParams({ projectId: known.projectId, predictionId });
  const init = {
    headers: {
      authorization: `Bearer ${user.token}`,
      apikey: stack.keys.publishableKey,
      ...(tag === null ? {} : { "if-none-match": tag }),
    },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  };
  const url = `${stack.url}/functions/v1/api/projects/generate/${known.step}?${query}`;
  const [response, body] = await user
    .fetch(url, init)
    .then(async (response) => [response, await response.text()] as const)
    .catch((cause) => {
      throw new KeyframeError("network", String(cause));
    });
  const { data, headers } = readAnswer(response.status, response.headers, body, Date.now());
  if (response.status !== 304) return recordStatus(user, world, prediction.parse(data), headers.get("etag"));
  const status = headers.get("etag") === tag ? known.status : "another";
  ledger.statusAnswers.push({ reader: user.userId, predictionId, status, code: 304 });
}

/** Polls a prediction several times in a row, mostly with the ETag. */
export async function poll(user: User, world: World): Promise<void> {
  const open = [...user.lastAnswers].filter(([, { status }]) => !hasEnded(status));
  if (open.length === 0) return;
  const [predictionId] = user.random.pick(open);
  try {
    for (let polls = user.random.whole(2, 8); polls > 0; polls--) {
      await pollOnce(user, world, predictionId, user.random.chance(0.85));
      await pause(user.random.whole(SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS));
    }
  } catch (error) {
    if (codeOf(error) === "not_found") removePrediction(user, predictionId);
    throw error;
  }
}

/** The prediction was deleted, alone or with its project. */
export function removePrediction(user: User, predictionId: string): void {
  user.frames = user.frames.filter((frame) => frame.predictionId !== predictionId);
  user.lastAnswers.delete(predictionId);
  user.open.delete(predictionId);
}

/** When a signed URL of Storage expires, by its own token (ISO 8601). Throws when it has none. */
export function endOfAddress(url: string): string {
  const payload = new URL(url).searchParams.get("token")?.split(".")[1] ?? "";
  const { exp } = JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(payload, { alphabet: "base64url" })));
  return new Date(exp * 1000).toISOString();
}

export function removeProject(user: User, gone: string): void {
  user.projects = user.projects.filter(({ projectId }) => projectId !== gone);
  user.frames = user.frames.filter(({ projectId }) => projectId !== gone);
  for (const [id, { projectId }] of user.open) if (projectId === gone) user.open.delete(id);
}

/** The share of POST requests that are sent twice at the same moment with the same key. */
const TWICE = 0.15;

/** Sends a POST, sometimes twice at once with the same key, and records what each answer created. */
export async function twice<Made>(
  { random }: User,
  { ledger }: World,
  key: string,
  what: string,
  send: () => Promise<Made>,
  idOf: (made: Made) => string,
): Promise<Made> {
  const other = random.chance(TWICE) ? send().catch(() => undefined) : undefined;
  const made = await send();
  ledger.answers.push({ key, what, id: idOf(made) });
  const also = await other;
  if (also !== undefined) ledger.answers.push({ key, what, id: idOf(also) });
  return made;
}

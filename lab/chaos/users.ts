import { createClient } from "@supabase/supabase-js";
import { createKeyframeClient, KeyframeError } from "../../client/index.ts";
import type { Prediction } from "../../shared/contract/predictions.ts";
import { retry } from "../../shared/platform/retry.ts";
import { createRandom } from "./random.ts";
import type { ReceivedEvent } from "./receivers.ts";
import type { Ledger, User, World } from "./world.ts";

/** Signs an account up and returns its session. An earlier try may have succeeded without an answer: then it signs in. */
export async function signUp({ stack }: World, account: { email: string; password: string }) {
  const { auth } = createClient(stack.url, stack.keys.publishableKey, {
    auth: { persistSession: false, autoRefreshToken: false },
  });
  const signedUp = await auth.signUp(account);
  const { data, error } = signedUp.error ? await auth.signInWithPassword(account) : signedUp;
  if (error || !data.session) throw new Error(`${account.email} could not sign up: ${error?.message ?? "no session"}`);
  return data.session;
}

/** Signs a user up; they use the API through the typed client. */
export async function newUser(world: World, seed: number, number: number): Promise<User> {
  const { stack, ledger } = world;
  const random = createRandom(`user ${number} of ${seed}`);
  const account = { email: `chaos-${number}@keyframe.local`, password: `project-${seed}-${number}` };
  const { access_token, user } = await signUp(world, account);
  const server =
    number % 2 === 0
      ? createKeyframeClient({
          url: stack.url,
          secretKey: stack.keys.secretKey,
          userId: user.id,
          random: random.number,
        })
      : null;
  const client = createKeyframeClient({
    url: stack.url,
    apikey: stack.keys.publishableKey,
    getToken: () => access_token,
    requestTimeoutMs: 20_000,
    random: random.number,
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      const { status, headers } = response;
      // An answer with sb-error-code is the gateway's, while it starts a function.
      if (status >= 500 && !headers.has("sb-error-code"))
        ledger.refusals.push({ status, retry_after: headers.has("retry-after") });
      return response;
    },
  });
  return {
    userId: user.id,
    client,
    server,
    random,
    projects: [],
    frames: [],
    references: [],
    endpoints: [],
    open: new Map(),
    isDeleted: false,
    busy: Promise.resolve(),
  };
}

/** The code of an error, for the counts. */
export const codeOf = (error: unknown): string => (error instanceof KeyframeError ? error.code : String(error));

/** Whether the outcome of a request is unknown: it may have been carried out. */
export const isUnanswered = (error: unknown): boolean =>
  !(error instanceof KeyframeError) || ["network", "unavailable", "internal", "not_an_envelope"].includes(error.code);

/** Repeats a request until it is answered. Throws a refusal, and after five tries the last error. */
export const untilAnswered = <Made>(send: () => Promise<Made>): Promise<Made> =>
  retry(send, { isRetriable: isUnanswered, maxAttempts: 5, minDelayMs: 0, maxDelayMs: 0 });

/** Records the status that a user got. */
export function recordStatus(user: User, { ledger }: World, { predictionId, status }: Prediction): void {
  if (["succeeded", "failed", "canceled"].includes(status)) user.open.delete(predictionId);
  const n = ledger.statuses.length;
  ledger.statuses.push({ n, reader: user.userId, prediction_id: predictionId, status });
}

/** Records the end of a prediction that a receiver got. */
export function recordEnd(user: User, { type, predictionId, projectId, step }: ReceivedEvent): void {
  if (predictionId === undefined || step === undefined) return; // no end of a prediction
  user.open.delete(predictionId);
  if (type === "generation.succeeded" && step !== "video") user.frames.push({ projectId, predictionId, step });
}

/** The prediction was deleted, by itself or with its project. */
export function removePrediction(user: User, predictionId: string): void {
  user.frames = user.frames.filter((frame) => frame.predictionId !== predictionId);
  user.open.delete(predictionId);
}

export function removeProject(user: User, gone: string): void {
  user.projects = user.projects.filter((projectId) => projectId !== gone);
  user.frames = user.frames.filter(({ projectId }) => projectId !== gone);
  for (const [id, { projectId }] of user.open) if (projectId === gone) user.open.delete(id);
}

/** The share of POST requests that are sent twice at the same moment with the same key. */
const TWICE = 0.15;

/**
 * Sends a POST, sometimes twice at once with the same key, and records what each answer created. One of the two may be refused before
 * credit comes, and the other accepted after it: then it is accepted. Throws an unanswered error before a refusal.
 */
export async function twice<Made>(
  { random, userId }: Pick<User, "random" | "userId">,
  { ledger }: { ledger: Pick<Ledger, "answers"> },
  key: string,
  what: string,
  send: () => Promise<Made>,
  idOf: (made: Made) => string,
): Promise<Made> {
  const record = (made: Made) => {
    ledger.answers.push({ key, what, id: idOf(made), owner_id: userId });
    return made;
  };
  const sent = random.chance(TWICE) ? [send(), send()] : [send()];
  const outcomes = await Promise.allSettled(sent.map((one) => one.then(record)));
  const reasons: unknown[] = [];
  for (const outcome of outcomes) {
    if (outcome.status === "fulfilled") return outcome.value;
    reasons.push(outcome.reason);
  }
  throw reasons.find(isUnanswered) ?? reasons[0];
}

import { readAnswer } from "../../client/read-answer.ts";
import { KeyframeError } from "../../client/index.ts";
import { type Prediction, type PredictionStatus, prediction } from "../../shared/contract/predictions.ts";
import { codeOf, type User } from "./user.ts";
import { pause, type World } from "./world.ts";

const PATIENCE_MS = 20_000;
/** A poller without patience: asked again sooner than Retry-After says. */
const SHORTEST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 300;

export const hasEnded = (status: PredictionStatus): boolean => ["succeeded", "failed", "canceled"].includes(status);

/** Notes what a user was told of a prediction. */
export function noteTold(user: User, { ledger }: World, made: Prediction, tag: string | null = null): void {
  const { predictionId, projectId, step, status } = made;
  user.told.set(predictionId, { projectId, step, status, tag });
  if (hasEnded(status)) user.open.delete(predictionId);
  ledger.tellings.push({ reader: user.userId, predictionId, status, code: 200 });
}

/**
 * Asks once for a prediction as an app that polls: with the tag of the last answer where there is one, so that 304 says that
 * nothing has changed. Throws KeyframeError.
 */
export async function look(user: User, world: World, predictionId: string, useTag: boolean): Promise<void> {
  const known = user.told.get(predictionId);
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
    signal: AbortSignal.timeout(PATIENCE_MS),
  };
  const url = `${stack.url}/functions/v1/api/projects/generate/${known.step}?${query}`;
  const [response, body] = await user
    .fetch(url, init)
    .then(async (response) => [response, await response.text()] as const)
    .catch((cause) => {
      throw new KeyframeError("network", String(cause));
    });
  const { data, headers } = readAnswer(response.status, response.headers, body, Date.now());
  if (response.status !== 304) return noteTold(user, world, prediction.parse(data), headers.get("etag"));
  const status = headers.get("etag") === tag ? known.status : "another";
  ledger.tellings.push({ reader: user.userId, predictionId, status, code: 304 });
}

/** Looks at a prediction several times in a row, mostly with the tag. */
export async function poll(user: User, world: World): Promise<void> {
  const open = [...user.told].filter(([, { status }]) => !hasEnded(status));
  if (open.length === 0) return;
  const [predictionId] = user.dice.pick(open);
  try {
    for (let looks = user.dice.whole(2, 8); looks > 0; looks--) {
      await look(user, world, predictionId, user.dice.chance(0.85));
      await pause(user.dice.whole(SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS));
    }
  } catch (error) {
    if (codeOf(error) === "not_found") forget(user, predictionId);
    throw error;
  }
}

/** The prediction is gone, with its project. */
export function forget(user: User, predictionId: string): void {
  user.told.delete(predictionId);
  user.open.delete(predictionId);
}

import { DeployError } from "./deploy-error.ts";

/** Time and network, so that tests need not wait. */
export type Outside = { fetch: typeof fetch; sleep: (ms: number) => Promise<void> };

const TRIES = 15;
const PAUSE_MS = 2_000;
const PATIENCE_MS = 20_000;

/** Asks until it answers 200: a new function takes some seconds. Throws with the last answer after half a minute of pauses. */
export async function waitForHealth(address: string, { fetch, sleep }: Outside): Promise<void> {
  let last = "nothing";
  for (let tries = 1; tries <= TRIES; tries++) {
    last = await ask(address, fetch);
    if (last === "") return;
    if (tries < TRIES) await sleep(PAUSE_MS);
  }
  throw new DeployError(
    `Everything is deployed, but ${address} does not answer as it should: ${last}. Look at the logs of the function api (the project's page → Edge Functions → api → Logs); a missing variable is named there.`,
  );
}

/** What was wrong with the answer, or "". */
async function ask(address: string, fetch: Outside["fetch"]): Promise<string> {
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(PATIENCE_MS) });
    const text = await response.text();
    return response.status === 200 && text.includes('"success":true')
      ? ""
      : `HTTP ${response.status} ${text.slice(0, 200)}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

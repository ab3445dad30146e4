import { findRunningStack } from "../../local/stack/data-folder.ts";
import { loadStackKeys } from "../../local/stack/stack-keys.ts";
import type { StackOptions } from "../../local/stack/stack-settings.ts";
import { pause } from "../../shared/platform/retry.ts";

const START_TIMEOUT_MS = 60_000;
const CHECK_EVERY_MS = 200;

type FoundStack = { url: string; publishableKey: string; simulated: boolean };

/**
 * The stack that runs on these data, if any; waits for one that is starting. Throws one line when it does not become
 * ready or does not answer.
 */
export async function findStack(
  { dataDir }: StackOptions,
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<FoundStack | null> {
  const end = performance.now() + START_TIMEOUT_MS;
  let waiting = false;
  let running = findRunningStack(dataDir);
  while (running && !running.ready) {
    if (!waiting) say(`The stack at ${running.url} is starting; waiting for it.\n`);
    waiting = true;
    signal.throwIfAborted();
    if (performance.now() > end) throw new Error(`The stack at ${running.url} did not become ready.`);
    await pause(CHECK_EVERY_MS);
    running = findRunningStack(dataDir);
  }
  if (!running) return null;
  const { url, simulated, pid } = running;
  const health = await fetch(`${url}/functions/v1/api/health`, { signal: AbortSignal.timeout(10_000) }).then(
    async (response) => {
      await response.body?.cancel();
      return response.ok ? null : `answered ${response.status}`;
    },
    () => "does not answer",
  );
  if (health !== null) throw new Error(`The stack at ${url} (process ${pid}) ${health}: stop it and start it again.`);
  say(`Using the stack at ${url}.\n`);
  const { publishableKey } = await loadStackKeys(dataDir);
  return { url, publishableKey, simulated };
}

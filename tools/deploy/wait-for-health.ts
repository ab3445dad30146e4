import { FUNCTION_NAMES, type FunctionName } from "../../local/stack/function-arguments.ts";
import { DeployError } from "./deploy-error.ts";
import type { Deployment } from "./step.ts";

const LONGEST_MS = 60_000;
const PAUSE_MS = 2_000;
const REQUEST_MS = 10_000;

type Problem = { name: FunctionName; said: string };

/**
 * Asks every function until all answer as they should: new ones take some seconds. Throws after a minute with the last answer
 * of those that do not.
 *
 * @param base where the functions are: `https://<ref>.supabase.co/functions/v1`
 * @param onProblems called with the answers that are not as they should be, before those functions are asked again
 */
export async function waitForHealth(
  base: string,
  outside: Pick<Deployment, "fetch" | "clock">,
  onProblems: (said: string) => void = () => undefined,
): Promise<void> {
  const { now, sleep } = outside.clock;
  const end = now() + LONGEST_MS;
  let waiting: readonly FunctionName[] = FUNCTION_NAMES;
  while (true) {
    const answers = await Promise.all(waiting.map((name) => ask(name, base, outside)));
    const problems = answers.filter((problem) => problem !== undefined);
    if (problems.length === 0) return;
    const said = problems.map((problem) => `${problem.name}: ${problem.said}`).join("; ");
    if (now() + PAUSE_MS >= end) throw unwell(base, said, problems[0]?.name);
    onProblems(said);
    waiting = problems.map(({ name }) => name);
    await sleep(PAUSE_MS);
  }
}

function unwell(base: string, said: string, first: string | undefined): DeployError {
  return new DeployError(
    `Everything is deployed, but not every function at ${base} answers as it should. ${said}. Look at its logs (the project's page → Edge Functions → ${first} → Logs): one that ends at its start names the variable there that is missing or wrong.`,
  );
}

/**
 * api says itself whether it works. The others answer only signed requests, so that they refuse one without a signature shows
 * that they started and that the platform lets it through to them.
 */
async function ask(
  name: FunctionName,
  base: string,
  { fetch, clock }: Pick<Deployment, "fetch" | "clock">,
): Promise<Problem | undefined> {
  const isApi = name === "api";
  const signal = clock.timeout(REQUEST_MS);
  try {
    const response = isApi
      ? await fetch(`${base}/api/health`, { signal })
      : await fetch(`${base}/${name}`, { method: "POST", body: "{}", signal });
    const text = await response.text();
    const isWell = isApi
      ? response.status === 200 && text.includes('"success":true')
      : response.status === 401 && text.includes('"code":"unauthorized"');
    return isWell ? undefined : { name, said: `HTTP ${response.status} ${text.slice(0, 200)}` };
  } catch (error) {
    return { name, said: signal.aborted ? `no answer within ${REQUEST_MS / 1000} s` : String(error).slice(0, 200) };
  }
}

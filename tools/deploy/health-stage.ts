import { FUNCTION_NAMES, type FunctionName } from "../../local/stack/function-arguments.ts";
import { DeployError } from "./output.ts";
import type { Deployment, Stage } from "./stage.ts";

/** Checks that every function answers at the URL that apps use, and that the API reaches its database. */
export const healthStage: Stage = {
  name: "Health",
  plan: async (deployment) => {
    const base = `${deployment.settings.clientUrl}/functions/v1`;
    return {
      says: `to ask all functions at ${base}`,
      apply: async () => {
        let waiting = "asking the functions";
        const health = waitForHealth(base, deployment, (problems) => {
          waiting = `asking again: ${problems}`;
        });
        await deployment.progress.during(() => waiting, health);
        return "well";
      },
    };
  },
};

const LONGEST_MS = 60_000;
const PAUSE_MS = 2_000;
const REQUEST_MS = 10_000;

type Problem = { name: FunctionName; said: string };

/**
 * Asks every function until all answer as expected, which takes new ones some seconds. Throws after a minute with the
 * last wrong answers. `base` is `https://<ref>.supabase.co/functions/v1`; `onProblems` gets the wrong answers before
 * they are asked again.
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
 * api reports its own health. The others answer signed requests only, so a 401 shows that they run and that the
 * platform lets the request through.
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

import { z } from "zod";
import { FUNCTION_NAMES, type FunctionName } from "../../local/stack/function-arguments.ts";
import { DeployError } from "./reporting.ts";
import type { Deployment, Stage } from "./stage.ts";

/**
 * Checks that every function answers at the URL that apps use, that the API reaches a database of its version, and that kicks
 * from the database reach the workers.
 */
export const healthStage: Stage = {
  name: "Health",
  plan: async (deployment) => {
    const base = `${deployment.settings.clientUrl}/functions/v1`;
    return {
      says: `to ask all functions at ${base}, and to kick the workers`,
      apply: async () => {
        // A restored dump brings the schema without a notice to the Data API, which then answers as if it were missing.
        const reload = "notify pgrst, 'reload schema'";
        await deployment.cli.query("reloading the Data API's schema", reload, z.unknown(), "write");
        let waiting = "asking the functions";
        const health = waitForHealth(base, deployment, (problems) => {
          waiting = `asking again: ${problems}`;
        });
        await deployment.progress.during(() => waiting, health);
        await deployment.progress.during("following a kick to each worker", followKicks(deployment));
        return "well";
      },
    };
  },
};

const LONGEST_MS = 60_000;
const PAUSE_MS = 2_000;
/** pg_net sends within a second or two, and a new function starts within a few. */
const MAX_KICK_MS = 30_000;
const REQUEST_MS = 10_000;

const WORKERS = ["generate", "deliver"];
const kickRow = z.object({ name: z.string(), acknowledged: z.boolean(), error: z.string().nullable() });

/** Kicks both workers and waits until each has claimed: by then database, Vault, pg_net, function and Data API work together. */
async function followKicks({ cli, clock }: Deployment): Promise<void> {
  const list = WORKERS.map((name) => `'${name}'`).join(", ");
  const kick = `select keyframe_private.kick(name) from unnest(array[${list}]) name`;
  await cli.query("kicking the workers", kick, z.unknown(), "write");
  // As the owner, because the read-only role may not see a table with row-level security.
  const query = `select distinct on (function_name) function_name as name, acknowledged_at is not null as acknowledged, error
    from keyframe_private.kicks where function_name in (${list}) order by function_name, made_at desc`;
  const end = clock.now() + MAX_KICK_MS;
  while (true) {
    const kicks = await cli.query("asking whether the kicks arrived", query, kickRow, "write");
    const lost = WORKERS.filter((name) => !kicks.some((row) => row.name === name && row.acknowledged));
    if (lost.length === 0) return;
    if (clock.now() + PAUSE_MS >= end) {
      const said = lost.map((name) => {
        const error = kicks.find((row) => row.name === name)?.error;
        return `keyframe-${name} (${error ?? "it has not asked for work since"})`;
      });
      throw new DeployError(
        `Everything is deployed and answers, but kicks from the database do not reach ${said.join(", ")}. GET /functions/v1/api/health?deep=1 with the project's secret key says why (docs/operate.md).`,
      );
    }
    await clock.sleep(PAUSE_MS);
  }
}

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

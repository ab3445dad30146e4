import { z } from "zod";
import type { FunctionName } from "../../local/stack/function-arguments.ts";
import { DeployError } from "./reporting.ts";
import type { Deployment, Stage } from "./stage.ts";

/**
 * Checks that every function answers at the URL that apps use, that the API reaches a database of its version, and that kicks
 * from the database reach generate and deliver.
 */
export const healthStage: Stage = {
  name: "Health",
  plan: async (deployment) => {
    const { cli, settings } = deployment;
    const base = `${settings.clientUrl}/functions/v1`;
    return {
      says: `will call every function at ${base}, and kick generate and deliver`,
      apply: async () => {
        // A restored dump brings the schema without a notice to the Data API, which then answers as if it were missing.
        const reload = "notify pgrst, 'reload schema'";
        await cli.query("reloading the Data API's schema", reload, z.unknown(), "write");
        await untilNone(
          deployment.clock,
          FUNCTIONS_MS,
          () => problemsOf(base, deployment),
          (problems) =>
            `Everything is deployed, but not every function at ${base} answers correctly. ${problems.join("; ")}. Check its logs (the project's page → Edge Functions → ${problems[0]?.split(":")[0]} → Logs). A function that fails to start logs the variable that is missing or wrong.`,
        );
        await cli.query("kicking generate and deliver", KICK, z.unknown(), "write");
        await untilNone(
          deployment.clock,
          KICKS_MS,
          () => lostKicks(deployment),
          (lost) =>
            `Everything is deployed and every function answers, but kicks from the database do not reach ${lost.join(", ")}. GET /functions/v1/api/health?deep=1 with the project's secret key says why (docs/operate.md).`,
        );
      },
    };
  },
};

/** A new function starts within a few seconds. */
const FUNCTIONS_MS = 60_000;
/** pg_net sends within a second or two. */
const KICKS_MS = 30_000;
const PAUSE_MS = 2_000;
const REQUEST_MS = 10_000;

/** Looks again until there is no problem any more. Throws what `describe` says of the last ones when the time is over. */
async function untilNone(
  { now, sleep }: Deployment["clock"],
  limitMs: number,
  look: () => Promise<string[]>,
  describe: (problems: string[]) => string,
): Promise<void> {
  const end = now() + limitMs;
  for (;;) {
    const problems = await look();
    if (problems.length === 0) return;
    if (now() + PAUSE_MS >= end) throw new DeployError(describe(problems));
    await sleep(PAUSE_MS);
  }
}

const problemsOf = async (base: string, deployment: Deployment): Promise<string[]> =>
  (await Promise.all(deployment.settings.functions.map((name) => ask(name, base, deployment)))).flat();

/**
 * api reports its own health. The others answer signed requests only, or with a session, so a 401 shows that they run and that the
 * platform lets the request through.
 */
async function ask(name: FunctionName, base: string, { fetch, clock }: Deployment): Promise<string[]> {
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
    return isWell ? [] : [`${name}: HTTP ${response.status} ${text.slice(0, 200)}`];
  } catch (error) {
    return [`${name}: ${signal.aborted ? `no answer within ${REQUEST_MS / 1000} s` : String(error).slice(0, 200)}`];
  }
}

const FUNCTIONS = ["generate", "deliver"];
const LIST = FUNCTIONS.map((name) => `'${name}'`).join(", ");
const KICK = `select keyframe_private.kick(name) from unnest(array[${LIST}]) name`;
/** The first claim acknowledges a kick: by then database, Vault, pg_net, function and Data API work together. */
const KICKS = `select distinct on (function_name) function_name as name, acknowledged_at is not null as acknowledged, error
  from keyframe_private.kicks where function_name in (${LIST}) order by function_name, made_at desc`;
const kicks = z.object({ name: z.string(), acknowledged: z.boolean(), error: z.string().nullable() });

async function lostKicks({ cli }: Deployment): Promise<string[]> {
  // The query runs as the owner, because the read-only role may not see a table with row-level security.
  const made = await cli.query("checking whether the kicks arrived", KICKS, kicks, "write");
  return FUNCTIONS.flatMap((name) => {
    const kick = made.find((each) => each.name === name);
    return kick?.acknowledged ? [] : [`keyframe-${name} (${kick?.error ?? "no claim of work since"})`];
  });
}

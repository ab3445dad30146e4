import { z } from "zod";
import { FUNCTION_NAMES } from "../../local/stack/function-arguments.ts";
import { secretsToSet } from "./migrations.ts";
import { DeployError } from "./reporting.ts";
import type { Deployment, Stage } from "./stage.ts";
import type { SupabaseCli } from "./supabase-cli.ts";

const answered = z.object({ count: z.number() });

/** Sets the variables that the functions need in addition to those of the platform. */
export const secretsStage: Stage = {
  name: "Function secrets",
  plan: async ({ cli, found, settings }) => {
    const wanted = wantedSecrets({ found, settings });
    const names = secretsToSet(wanted, found.secretDigests);
    // A dry run does not read the Vault.
    const withKick = found.kickSecret === undefined && !found.secretDigests.has("KEYFRAME_KICK_SECRET");
    const shown = withKick ? [...names, "KEYFRAME_KICK_SECRET"] : names;
    if (shown.length === 0) return { says: "every one is there, with the value it should have" };
    return {
      says: `to set: ${shown.join(", ")}`,
      apply: async () => {
        if (names.length === 0) return "kept";
        // On standard input: a killed process would leave a file behind, and everybody can read a command line.
        const input = names.map((name) => `${name}='${wanted[name] ?? ""}'\n`).join("");
        const args = ["secrets", "set", "--yes", "--env-file=/dev/stdin"];
        const { count } = await cli.read("setting the functions' secrets", args, answered, { input });
        if (count === names.length) return "set";
        throw new DeployError("The Supabase CLI did not say that it set every secret. Is it the one of `npm ci`?");
      },
    };
  },
};

function wantedSecrets({ found, settings }: Pick<Deployment, "found" | "settings">): Record<string, string> {
  const values = {
    KEYFRAME_REPLICATE_API_TOKEN: settings.replicate.token,
    KEYFRAME_REPLICATE_WEBHOOK_SECRET: found.signingSecret,
    KEYFRAME_KICK_SECRET: found.kickSecret,
    ...settings.optional,
  };
  const known = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(known);
}

/** Enough for an upload over a slow line. */
const LIMIT_MS = 15 * 60_000;

const listed = z.object({
  functions: z.array(z.object({ slug: z.string(), version: z.number(), updated_at: z.number().optional() })),
});
type Version = z.infer<typeof listed>["functions"][number];

/**
 * Uploads the functions each time, for the platform to bundle (no Docker): only the platform knows whether they
 * changed.
 */
export const functionsStage: Stage = {
  name: "Functions",
  plan: async (deployment) => {
    const { cli } = deployment;
    const before = await readVersions(cli);
    return {
      says: `to deploy: ${FUNCTION_NAMES.map((name) => `${name}${inBrackets(before.get(name))}`).join(", ")}`,
      apply: async () => {
        try {
          const args = ["functions", "deploy", "--use-api", "--yes", ...FUNCTION_NAMES];
          await cli.run("deploying the functions", args, { limitMs: LIMIT_MS });
        } catch (error) {
          if (!(error instanceof DeployError)) throw error;
          throw new DeployError(`${error.message} ${await whatRuns(deployment, before)}`);
        }
        return "deployed";
      },
    };
  },
};

const inBrackets = (found: Version | undefined) => (found === undefined ? "" : ` (version ${found.version} runs)`);

/** The deployed functions by name. */
export async function readVersions(cli: SupabaseCli): Promise<Map<string, Version>> {
  const { functions } = await cli.read("looking at the functions", ["functions", "list"], listed);
  return new Map(functions.map((found) => [found.slug, found]));
}

/** When some uploads fail, the CLI still deploys the others, so old and new versions may run side by side. */
async function whatRuns({ cli, settings }: Deployment, before: Map<string, Version>): Promise<string> {
  const after = await readVersions(cli).catch(() => undefined);
  if (after === undefined) {
    return `Which versions run now could not be read: \`npx supabase functions list --remote=${settings.project}\` lists them.`;
  }
  const lines = FUNCTION_NAMES.map((name) => {
    const [old, now] = [before.get(name), after.get(name)];
    if (now === undefined) return `${name}: not deployed`;
    const isNew = old?.version !== now.version || old.updated_at !== now.updated_at;
    return `${name}: version ${now.version} (${isNew ? "this checkout's" : "as before"})`;
  });
  return `Now run ${lines.join(", ")}.`;
}

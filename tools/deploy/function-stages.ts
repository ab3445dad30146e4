import { z } from "zod";
import { sha256Hex } from "../digests.ts";
import { DeployError } from "./reporting.ts";
import type { Stage } from "./stage.ts";
import { LONG_LIMIT_MS } from "./supabase-cli.ts";

const answered = z.object({ count: z.number() });

/** Sets the variables that the functions need in addition to those of the platform. */
export const secretsStage: Stage = {
  name: "Function secrets",
  plan: async ({ cli, found, settings }) => {
    const digests = found.secretDigests;
    const values = {
      KEYFRAME_REPLICATE_API_TOKEN: settings.replicate.token,
      KEYFRAME_REPLICATE_WEBHOOK_SECRET: found.signingSecret,
      KEYFRAME_KICK_SECRET: found.kickSecret,
      ...settings.optional,
    };
    const changed = Object.entries(values).filter(
      ([name, value]) => value !== undefined && digests.get(name)?.toLowerCase() !== sha256Hex(value),
    );
    const names = changed.map(([name]) => name);
    // A dry run does not read the Vault.
    if (found.kickSecret === undefined && !digests.has("KEYFRAME_KICK_SECRET")) names.push("KEYFRAME_KICK_SECRET");
    if (names.length === 0) return { says: "all set, with the right values" };
    return {
      says: `to set: ${names.join(", ")}`,
      apply: async () => {
        // Secrets go to standard input: a killed process would leave a file behind, and anyone on the machine can read a command line.
        const input = changed.map(([name, value]) => `${name}='${value}'\n`).join("");
        const args = ["secrets", "set", "--yes", "--env-file=/dev/stdin"];
        const { count } = await cli.read("setting the functions' secrets", args, answered, { input });
        if (count === changed.length) return;
        throw new DeployError(
          "The Supabase CLI did not confirm every secret. Is it the version that `npm ci` installs?",
        );
      },
    };
  },
};

/**
 * Uploads the functions each time, for the platform to bundle (no Docker): only the platform knows whether they
 * changed.
 */
export const functionsStage: Stage = {
  name: "Functions",
  plan: async ({ cli, settings }) => ({
    says: `to deploy: ${settings.functions.join(", ")}`,
    apply: async () => {
      try {
        const args = ["functions", "deploy", "--use-api", "--yes", ...settings.functions];
        await cli.run("deploying the functions", args, { limitMs: LONG_LIMIT_MS });
      } catch (error) {
        if (!(error instanceof DeployError)) throw error;
        throw new DeployError(
          `${error.message} The other functions may have been deployed: \`npx supabase functions list --remote=${settings.project}\` lists which versions run.`,
        );
      }
    },
  }),
};

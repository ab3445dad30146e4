import { z } from "zod";
import { DeployError } from "./deploy-error.ts";
import { secretsToSet } from "./secrets-to-set.ts";
import type { Deployment, Step } from "./step.ts";
import { parseJson } from "./supabase-cli.ts";

const answered = z.object({ count: z.number() });

/** What the functions read of their environment, beside what the platform gives them. */
export const secretsStep: Step = {
  name: "Function secrets",
  plan: async ({ cli, found, settings }) => {
    const wanted = wantedSecrets({ found, settings });
    const names = await secretsToSet(wanted, found.secretDigests);
    // In a dry run nobody has looked into the Vault.
    const withKick = found.kickSecret === undefined && !found.secretDigests.has("KEYFRAME_KICK_SECRET");
    const shown = withKick ? [...names, "KEYFRAME_KICK_SECRET"] : names;
    if (shown.length === 0) return { says: "every one is there, with the value it should have" };
    return {
      says: `to set: ${shown.join(", ")}`,
      apply: async () => {
        if (names.length === 0) return "kept";
        // Through standard input: a file would be left behind by a process that is ended, and a command line can be read.
        const input = names.map((name) => `${name}='${wanted[name] ?? ""}'\n`).join("");
        const args = ["secrets", "set", "--yes", "--env-file=/dev/stdin"];
        const answer = answered.safeParse(parseJson(await cli.run("setting the functions' secrets", args, { input })));
        if (answer.success && answer.data.count === names.length) return "set";
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

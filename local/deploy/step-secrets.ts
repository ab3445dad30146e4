import { withEnvironmentFile } from "./environment-file.ts";
import { secretsToSet } from "./secrets-to-set.ts";
import type { Deployment, Step } from "./step.ts";

/** What the functions read of their environment, beside what the platform gives them. */
export const secretsStep: Step = {
  name: "Function secrets",
  plan: async ({ cli, found, settings }) => {
    const wanted = wantedSecrets({ found, settings });
    const names = await secretsToSet(wanted, found.secretDigests);
    // In a dry run nobody has looked into the Vault.
    const withKick = found.kickSecret === undefined && !found.secretDigests.has("KICK_SECRET");
    const shown = withKick ? [...names, "KICK_SECRET"] : names;
    if (shown.length === 0) return { says: "every one is there, with the value it should have" };
    return {
      says: `to set: ${shown.join(", ")}`,
      apply: async () => {
        const chosen = Object.fromEntries(names.map((name) => [name, wanted[name] ?? ""]));
        await withEnvironmentFile(chosen, (path) =>
          cli.run("setting the functions' secrets", ["secrets", "set", "--yes", `--env-file=${path}`]),
        );
        return "set";
      },
    };
  },
};

function wantedSecrets({ found, settings }: Pick<Deployment, "found" | "settings">): Record<string, string> {
  const values = {
    REPLICATE_API_TOKEN: settings.replicate.token,
    REPLICATE_WEBHOOK_SECRET: found.signingSecret,
    KICK_SECRET: found.kickSecret,
    ...settings.optional,
  };
  const known = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(known);
}

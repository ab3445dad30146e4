import { z } from "zod";
import { DeployError } from "./deploy-error.ts";
import type { Step } from "./step.ts";
import { parseJson } from "./supabase-cli.ts";

const compared = z.object({
  changes: z.array(
    z.object({
      path: z.array(z.string()),
      class: z.string(),
      declared: z.boolean(),
      local: z.unknown(),
      remote: z.unknown(),
    }),
  ),
});

/** What supabase/config.toml declares becomes the project's setting; what it does not mention stays as it is. */
export const configStep: Step = {
  name: "Config",
  plan: async ({ cli }) => {
    const difference = compared.safeParse(parseJson(await cli.run("comparing the settings", ["config", "diff"])));
    if (!difference.success) {
      throw new DeployError("The Supabase CLI compared the settings in an unknown form. Is it the one of `npm ci`?");
    }
    const changes = difference.data.changes.filter((change) => change.declared && change.class !== "remote_only");
    if (changes.length === 0) return { says: "every setting is as declared" };
    const more = changes.map(
      ({ path, remote, local }) => `${path.join(".")}: ${JSON.stringify(remote ?? null)} → ${JSON.stringify(local)}`,
    );
    return {
      says: `${changes.length} of the project's settings to change`,
      more,
      apply: async () => {
        await cli.run("changing the settings", ["config", "push", "--yes"]);
        return "changed";
      },
    };
  },
};

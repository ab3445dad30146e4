import { z } from "zod";
import { DeployError } from "./deploy-error.ts";
import type { Step } from "./step.ts";
import { parseJson } from "./supabase-cli.ts";

const listed = z.object({
  secrets: z.array(z.object({ name: z.string(), value: z.string() })),
  target: z.object({ project_name: z.string().optional() }).optional(),
});

/** The login works, the project is there, and which secrets its functions have (by their SHA-256). */
export const projectStep: Step = {
  name: "Project",
  plan: async ({ cli, found, settings }) => {
    const printed = await cli.run("looking at the project", ["secrets", "list"]);
    const answer = listed.safeParse(parseJson(printed));
    if (!answer.success) {
      throw new DeployError(
        "The Supabase CLI listed the project's secrets in an unknown form. Is it the one of `npm ci`?",
      );
    }
    for (const { name, value } of answer.data.secrets) found.secretDigests.set(name, value);
    const name = answer.data.target?.project_name;
    return { says: `${name === undefined ? "" : `${name}, `}${settings.projectUrl}` };
  },
};

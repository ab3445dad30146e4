import { z } from "zod";
import { FUNCTION_NAMES } from "../../local/stack/function-arguments.ts";
import { DeployError } from "./deploy-error.ts";
import type { Deployment, Step } from "./step.ts";
import { parseJson, type SupabaseCli } from "./supabase-cli.ts";

/** An upload over a slow line. */
const LIMIT_MS = 15 * 60_000;

const listed = z.object({
  functions: z.array(z.object({ slug: z.string(), version: z.number(), updated_at: z.number().optional() })),
});
type Version = z.infer<typeof listed>["functions"][number];

/** The functions, bundled by the platform (no Docker here). Uploaded each time: only the platform could tell whether they changed. */
export const functionsStep: Step = {
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

async function readVersions(cli: SupabaseCli): Promise<Map<string, Version>> {
  const answer = listed.safeParse(parseJson(await cli.run("looking at the functions", ["functions", "list"])));
  if (answer.success) return new Map(answer.data.functions.map((found) => [found.slug, found]));
  throw new DeployError("The Supabase CLI listed the functions in an unknown form. Is it the one of `npm ci`?");
}

/** The CLI deploys those whose upload went well, even when others failed: then old and new ones run side by side. */
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

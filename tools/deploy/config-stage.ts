import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import type { Stage } from "./stage.ts";

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

const schemas = z.array(z.string());

/** The other schemas in config.toml are those of a new project. Here the project's owner has chosen them. */
const isOurs = (schema: string) => schema.startsWith("keyframe");

/**
 * Applies the settings that supabase/config.toml declares. Of the exposed schemas only ours are added: a project
 * whose Data API exposes a schema that does not exist answers every request with 503.
 */
export const configStage: Stage = {
  name: "Config",
  plan: async ({ cli }) => {
    const difference = await cli.read("comparing the settings", ["config", "diff"], compared);
    const declared = difference.changes.filter((change) => change.declared && change.class !== "remote_only");
    let exposed: string[] | undefined;
    const changes = declared.flatMap((change) => {
      if (change.path.join(".") !== "api.schemas") return [change];
      const remote = schemas.parse(change.remote ?? []);
      const missing = schemas.parse(change.local).filter((name) => isOurs(name) && !remote.includes(name));
      // A push sends the whole list, even if only another setting differs.
      exposed = [...remote, ...missing];
      return missing.length === 0 ? [] : [{ ...change, local: exposed }];
    });
    if (changes.length === 0) return { says: "every setting is as declared" };
    return {
      says: `${changes.length} of the project's settings to change`,
      more: changes.map(
        ({ path, remote, local }) => `${path.join(".")}: ${JSON.stringify(remote ?? null)} → ${JSON.stringify(local)}`,
      ),
      apply: () =>
        inProject(async (root) => {
          const path = join(root, "supabase/config.toml");
          const config = await readFile(path, "utf8");
          if (exposed) await writeFile(path, config.replace(/^schemas = .*$/m, `schemas = ${JSON.stringify(exposed)}`));
          await cli.run("changing the settings", ["config", "push", "--yes"], { root });
        }),
    };
  },
};

/** Runs something in a temporary folder that has this checkout's config.toml, for the CLI. */
export async function inProject(run: (root: string) => Promise<unknown>): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), "keyframe-deploy-"));
  try {
    await mkdir(join(root, "supabase"));
    await copyFile(join(PROJECT_ROOT, "supabase/config.toml"), join(root, "supabase/config.toml"));
    await run(root);
  } finally {
    await rm(root, { recursive: true });
  }
}

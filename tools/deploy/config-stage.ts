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

/**
 * Applies what supabase/config.toml declares and leaves other settings alone. Schemas that the project already exposes
 * stay exposed.
 */
export const configStage: Stage = {
  name: "Config",
  plan: async ({ cli }) => {
    const difference = await cli.read("comparing the settings", ["config", "diff"], compared);
    const declared = difference.changes.filter((change) => change.declared && change.class !== "remote_only");
    const changes = declared.flatMap((change) => {
      if (change.path.join(".") !== "api.schemas") return [change];
      const exposed = schemas.parse(change.remote ?? []);
      const missing = schemas.parse(change.local).filter((name) => !exposed.includes(name));
      return missing.length === 0 ? [] : [{ ...change, local: [...exposed, ...missing] }];
    });
    if (changes.length === 0) return { says: "every setting is as declared" };
    const more = changes.map(
      ({ path, remote, local }) => `${path.join(".")}: ${JSON.stringify(remote ?? null)} → ${JSON.stringify(local)}`,
    );
    return {
      says: `${changes.length} of the project's settings to change`,
      more,
      apply: async () => {
        const exposed = changes.find(({ path }) => path.join(".") === "api.schemas")?.local;
        await withConfig(exposed === undefined ? [] : schemas.parse(exposed), (root) =>
          cli.run("changing the settings", ["config", "push", "--yes"], { root }),
        );
        return "changed";
      },
    };
  },
};

/** Runs something in a folder whose config.toml exposes these schemas; with none, config.toml is unchanged. */
async function withConfig(exposed: string[], run: (root: string) => Promise<unknown>): Promise<void> {
  await inProject(async (root) => {
    const path = join(root, "supabase/config.toml");
    const line = `schemas = ${JSON.stringify(exposed)}`;
    const config = await readFile(path, "utf8");
    await writeFile(path, exposed.length === 0 ? config : config.replace(/^schemas = .*$/m, line));
    await run(root);
  });
}

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

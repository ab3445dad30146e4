import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
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

const schemas = z.array(z.string());

/**
 * What supabase/config.toml declares becomes the project's setting; what it does not mention stays as it is. Schemas that the
 * project exposes already stay exposed.
 */
export const configStep: Step = {
  name: "Config",
  plan: async ({ cli }) => {
    const difference = compared.safeParse(parseJson(await cli.run("comparing the settings", ["config", "diff"])));
    if (!difference.success) {
      throw new DeployError("The Supabase CLI compared the settings in an unknown form. Is it the one of `npm ci`?");
    }
    const declared = difference.data.changes.filter((change) => change.declared && change.class !== "remote_only");
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

/** Runs something in a folder that has config.toml with these schemas exposed, or as it is when there are none. */
async function withConfig(exposed: string[], run: (root: string) => Promise<unknown>): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), "keyframe-config-"));
  try {
    await mkdir(join(root, "supabase"));
    const config = await readFile(join(PROJECT_ROOT, "supabase/config.toml"), "utf8");
    const line = `schemas = ${JSON.stringify(exposed)}`;
    const merged = exposed.length === 0 ? config : config.replace(/^schemas = .*$/m, line);
    await writeFile(join(root, "supabase/config.toml"), merged);
    await run(root);
  } finally {
    await rm(root, { recursive: true });
  }
}

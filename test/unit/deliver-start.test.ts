import { Client } from "undici";
import Alone from "undici/lib/dispatcher/client.js";
import { expect, test } from "vitest";
import { z } from "zod";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";

// undici has no smaller entry than the whole package, so a path inside it is named (docs/decisions/0018). Another version of it
// may have moved it, or need another part beside it.
test("the one module of undici that deliver reads → is the Client of the package", () => {
  expect(Alone).toBe(Client);
});

const info = z.object({
  roots: z.array(z.string()),
  modules: z.array(
    z.object({
      specifier: z.string(),
      dependencies: z
        .array(
          z.object({ isDynamic: z.boolean().default(false), code: z.object({ specifier: z.string() }).optional() }),
        )
        .default([]),
    }),
  ),
});

test("what deliver reads before its first answer → nothing that only speaks to receivers", async () => {
  const folder = "supabase/functions/keyframe-deliver";
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "--node-modules-dir=manual", `--config=${folder}/deno.json`, `${folder}/index.ts`],
    cwd: PROJECT_ROOT,
  }).output();
  const { roots, modules } = info.parse(JSON.parse(new TextDecoder().decode(stdout)));
  const read = new Set(roots);
  for (const specifier of read) {
    for (const { isDynamic, code } of modules.find((module) => module.specifier === specifier)?.dependencies ?? []) {
      if (!isDynamic && code !== undefined) read.add(code.specifier);
    }
  }
  const packages = [...read].flatMap((path) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []);
  expect(packages.toSorted()).toEqual(["@supabase/postgrest-js", "standardwebhooks", "zod"]);
});

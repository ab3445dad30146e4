import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";

const info = z.object({ modules: z.array(z.object({ specifier: z.string() })) });

/** The files of a project that a function is made of, by Deno's own reading of its imports, and its deno.json. */
export async function filesOfFunction(name: string, project = PROJECT_ROOT): Promise<string[]> {
  const folder = `supabase/functions/${name}`;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "--node-modules-dir=manual", `--config=${folder}/deno.json`, `${folder}/index.ts`],
    cwd: project,
  }).output();
  const { modules } = info.parse(JSON.parse(new TextDecoder().decode(stdout)));
  const paths = modules
    .filter(({ specifier }) => specifier.startsWith("file:") && !specifier.includes("/node_modules/"))
    .map(({ specifier }) => fileURLToPath(specifier).slice(join(project, "/").length));
  return [...paths, `${folder}/deno.json`].sort();
}

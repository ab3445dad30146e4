import { join } from "node:path";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { sha256Hex } from "./secrets-to-set.ts";

export type Migration = { version: string; file: string; text: string };

/** The migrations of this checkout, oldest first. */
export async function readMigrations(folder = join(PROJECT_ROOT, "supabase/migrations")): Promise<Migration[]> {
  const files: string[] = [];
  for await (const { name } of Deno.readDir(folder)) if (/^\d+_.*\.sql$/.test(name)) files.push(name);
  return await Promise.all(
    files.sort().map(async (file) => ({
      version: file.slice(0, file.indexOf("_")),
      file,
      text: await Deno.readTextFile(join(folder, file)),
    })),
  );
}

/**
 * The digest of a migration's statements. The CLI records them one by one, without the semicolons and the space around them,
 * so neither counts here.
 */
export const migrationDigest = (text: string): Promise<string> =>
  sha256Hex(text.replace(/[; \t\r\n]+/g, " ").replace(/^ | $/g, ""));

import { join } from "node:path";
import { PROJECT_ROOT } from "./project-root.ts";

type Migration = { version: string; name: string; file: string; text: string };

/** The migrations of this checkout, or of another folder, oldest first. */
export async function readMigrations(folder = join(PROJECT_ROOT, "supabase/migrations")): Promise<Migration[]> {
  const files: string[] = [];
  for await (const { name } of Deno.readDir(folder)) if (/^\d+_.*\.sql$/.test(name)) files.push(name);
  return await Promise.all(
    files.sort().map(async (file) => ({
      version: file.slice(0, file.indexOf("_")),
      name: file.slice(file.indexOf("_") + 1, -".sql".length),
      file,
      text: await Deno.readTextFile(join(folder, file)),
    })),
  );
}

/** A migration's text to compare: without semicolons and white space, because the CLI records statements without them. */
export const statementsOf = (text: string): string => text.replace(/[; \t\r\n]+/g, " ").replace(/^ | $/g, "");

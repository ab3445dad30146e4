import { join } from "node:path";
import { PROJECT_ROOT } from "./project-root.ts";

/**
 * Applies `supabase/migrations` with the Supabase CLI, as a deployment does.
 *
 * @param databaseUrl the address the migrations run with
 * @param home where the CLI keeps what it remembers; never the person's own home
 * @throws one line with what the CLI said
 */
export async function applyMigrations(databaseUrl: string, home: string): Promise<void> {
  await Deno.mkdir(home, { recursive: true });
  const { code, stdout, stderr } = await supabaseCli(["db", "push", `--remote=${databaseUrl}`, "--yes"], home);
  if (code === 0) return;
  const said = `${stdout}\n${stderr}`.replaceAll(databaseUrl, "the database").trim().split("\n").slice(-6).join(" ");
  throw new Error(`The migrations could not be applied: ${said}`);
}

/** Runs the Supabase CLI of this project in its root, with telemetry off and a home of its own. */
export async function supabaseCli(
  args: string[],
  home: string,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const { code, stdout, stderr } = await new Deno.Command(join(PROJECT_ROOT, "node_modules/.bin/supabase"), {
    args,
    cwd: PROJECT_ROOT,
    env: { HOME: home, SUPABASE_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1", PGSSLMODE: "disable" },
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

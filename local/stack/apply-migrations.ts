import { join } from "node:path";
import { PROJECT_ROOT } from "./project-root.ts";

const LONGEST_REASON = 600;

/**
 * Applies `supabase/migrations` with the Supabase CLI, as a deployment does.
 *
 * @param databaseUrl the address the migrations run with
 * @param home where the CLI keeps what it remembers; never the person's own home
 * @param signal ends the CLI; what it was applying is rolled back
 * @throws one line with what the CLI said
 */
export async function applyMigrations(databaseUrl: string, home: string, signal?: AbortSignal): Promise<void> {
  await Deno.mkdir(home, { recursive: true });
  const url = new URL(databaseUrl);
  const password = decodeURIComponent(url.password);
  url.password = "";
  // By its environment: everybody on the machine can read a command line.
  const { code, stdout, stderr } = await supabaseCli(["db", "push", `--remote=${url.href}`, "--yes"], home, {
    env: { PGPASSWORD: password },
    ...(signal ? { signal } : {}),
  });
  if (code === 0) return;
  const lines = `${stdout}\n${stderr}`.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("WARN:"));
  const began = lines.findLastIndex((line) => line.startsWith("Applying migration"));
  const said = lines.slice(Math.max(began, 0)).join(" ");
  if (/inserted before the last migration|not found in local migrations/.test(said)) {
    throw new Error("The migrations are others than those these data were made with. Start anew: npm start -- --reset");
  }
  throw new Error(`The migrations could not be applied: ${said.slice(0, LONGEST_REASON)}`);
}

/** Runs the Supabase CLI of this project in its root, with telemetry off and a home of its own. */
export async function supabaseCli(
  args: string[],
  home: string,
  more: { env?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const command = new Deno.Command(join(PROJECT_ROOT, "node_modules/.bin/supabase"), {
    args,
    cwd: PROJECT_ROOT,
    env: { HOME: home, SUPABASE_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1", PGSSLMODE: "disable", ...more.env },
    stdin: "null",
    ...(more.signal ? { signal: more.signal } : {}),
  });
  const { code, stdout, stderr } = await output(command);
  const decoder = new TextDecoder();
  const said = decoder.decode(stderr);
  // Its launcher is there, the program for this machine is not.
  if (code !== 0 && /spawn .* ENOENT|No matching Supabase CLI binary/.test(said)) throw missing();
  return { code, stdout: decoder.decode(stdout), stderr: said };
}

async function output(command: Deno.Command): Promise<Deno.CommandOutput> {
  try {
    return await command.output();
  } catch (error) {
    throw error instanceof Deno.errors.NotFound ? missing() : error;
  }
}

function missing(): Error {
  return new Error("The Supabase CLI is missing from node_modules: run `npm ci`.");
}

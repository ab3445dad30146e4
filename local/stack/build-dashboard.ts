import { join } from "node:path";
import { PROJECT_ROOT } from "./project-root.ts";

const SOURCES = ["dashboard", "client", "shared", "package.json", "package-lock.json"];
const NOT_SOURCES = new Set(["dist", "node_modules"]);

export const DASHBOARD_FOLDER = join(PROJECT_ROOT, "dashboard", "dist");

/** Builds the dashboard (about two seconds), unless the last build is newer than all its sources. */
export async function buildDashboard(signal?: AbortSignal, root = PROJECT_ROOT): Promise<void> {
  const built = await changedAt(join(root, "dashboard", "dist", "index.html"));
  const sources = SOURCES.map((name) => newest(join(root, name)));
  if (built > Math.max(...(await Promise.all(sources)))) return;
  await runVite(["dashboard"], signal, root);
}

/** Makes a production build. */
export async function runVite(args: string[], signal?: AbortSignal, root = PROJECT_ROOT): Promise<void> {
  const vite = join(root, "node_modules", "vite", "bin", "vite.js");
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", vite, "build", ...args, "--logLevel", "warn"],
    cwd: root,
    // The gateway gives the page its address, so variables of another project in the shell must not be built in.
    // NODE_ENV=test or development would build React's development version, half as large again.
    env: { SUPABASE_URL: "", SUPABASE_PUBLISHABLE_KEY: "", NODE_ENV: "production" },
    stdout: "piped",
    stderr: "piped",
    ...(signal ? { signal } : {}),
  });
  const { success, stderr } = await command.output();
  if (!success) throw new Error(`The dashboard could not be built: ${new TextDecoder().decode(stderr).trim()}`);
}

/** When the newest file or folder at or below a path changed, in ms. A folder changes when a file in it is removed. */
async function newest(path: string): Promise<number> {
  const info = await Deno.stat(path);
  const own = info.mtime?.getTime() ?? 0;
  if (!info.isDirectory) return own;
  const below: Promise<number>[] = [];
  for await (const { name } of Deno.readDir(path)) if (!NOT_SOURCES.has(name)) below.push(newest(join(path, name)));
  return Math.max(own, ...(await Promise.all(below)));
}

const changedAt = async (path: string): Promise<number> =>
  (await Deno.stat(path).catch(() => null))?.mtime?.getTime() ?? -1;

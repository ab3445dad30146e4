import { join } from "node:path";
import { PROJECT_ROOT } from "./project-root.ts";

const SOURCES = ["dashboard", "client", "shared"];
const NOT_SOURCES = new Set(["dist", "node_modules"]);

/** Where the built dashboard is. */
export const DASHBOARD_FOLDER = join(PROJECT_ROOT, "dashboard", "dist");

/** Builds the dashboard of a checkout (some two seconds), unless what is there is newer than all it is made of. */
export async function buildDashboard(signal?: AbortSignal, root = PROJECT_ROOT): Promise<void> {
  const built = await changedAt(join(root, "dashboard", "dist", "index.html"));
  const sources = [...SOURCES, "package-lock.json"].map((name) => newest(join(root, name)));
  if (built > Math.max(...(await Promise.all(sources)))) return;
  const vite = join(root, "node_modules", "vite", "bin", "vite.js");
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", vite, "build", "dashboard", "--logLevel", "warn"],
    cwd: root,
    // The gateway tells the page where this stack is; what a shell has set for another project must not get in.
    // Nor may NODE_ENV=test or development, which would build React with its checks, half as large again.
    env: { SUPABASE_URL: "", SUPABASE_PUBLISHABLE_KEY: "", NODE_ENV: "production" },
    stdout: "piped",
    stderr: "piped",
    ...(signal ? { signal } : {}),
  });
  const { success, stderr } = await command.output();
  if (!success) throw new Error(`The dashboard could not be built: ${new TextDecoder().decode(stderr).trim()}`);
}

/** When the newest file or folder at or below a path was changed, in ms. A folder changes when a file in it goes. */
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

import type { Session } from "@supabase/supabase-js";
import { tmpdir } from "node:os";
import { join } from "node:path";
import bundled from "@sparticuz/chromium";
import { type Browser, type BrowserContextOptions, chromium, type LaunchOptions } from "playwright-core";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Callers close the browser themselves on Ctrl-C, after their own cleanup. */
const SIGNALS = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };

/** A headless browser: the Chromium that comes from npm on 64-bit Linux, elsewhere the Chrome that is installed. */
export async function launchBrowser(more: LaunchOptions = {}): Promise<Browser> {
  if (Deno.build.os === "linux" && Deno.build.arch === "x86_64") {
    return await chromium.launch({ executablePath: await unpackBundled(), args: FLAGS, ...SIGNALS, ...more });
  }
  return await chromium.launch({ channel: "chrome", ...SIGNALS, ...more });
}

/**
 * The package unpacks itself to a fixed name in the temporary folder, which fails next to another user's copy and takes
 * an incomplete copy for a whole one. So it is unpacked into a folder of this user's, which is renamed last.
 */
async function unpackBundled(): Promise<string> {
  const folder = join(tmpdir(), `keyframe-chromium-${Deno.uid()}`);
  if (await isWhole(folder)) return join(folder, "chromium");
  const unfinished = await Deno.makeTempDir({ prefix: "keyframe-chromium-" });
  const kept = Deno.env.get("TMPDIR");
  // The package unpacks into os.tmpdir(), which reads this variable.
  Deno.env.set("TMPDIR", unfinished);
  try {
    await bundled.executablePath();
  } finally {
    if (kept === undefined) Deno.env.delete("TMPDIR");
    else Deno.env.set("TMPDIR", kept);
  }
  try {
    await Deno.rename(unfinished, folder);
  } catch {
    // Somebody else uses the name: another process of this user, whose copy is as good, or another user.
    if (!(await isWhole(folder))) return join(unfinished, "chromium");
    await Deno.remove(unfinished, { recursive: true });
  }
  return join(folder, "chromium");
}

/** Whether the folder is this user's and has the program. */
async function isWhole(folder: string): Promise<boolean> {
  const info = await Deno.lstat(folder).catch(() => undefined);
  if (!info?.isDirectory || info.uid !== Deno.uid()) return false;
  return (await Deno.stat(join(folder, "chromium")).catch(() => undefined)) !== undefined;
}

/** The state of a signed-in browser, as supabase-js stores a session. */
export function keptSession(url: string, session: Session): NonNullable<BrowserContextOptions["storageState"]> {
  const name = `sb-${new URL(url).hostname.split(".")[0]}-auth-token`;
  return { cookies: [], origins: [{ origin: url, localStorage: [{ name, value: JSON.stringify(session) }] }] };
}

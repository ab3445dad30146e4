import { tmpdir } from "node:os";
import { join } from "node:path";
import bundled from "@sparticuz/chromium";
import { type Browser, chromium } from "playwright-core";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A Ctrl-C is for whoever launched the browser: that closes it, and may have more to put in order than playwright. */
const SIGNALS = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };

/** A headless browser: the Chromium that comes from npm on 64-bit Linux, elsewhere the Chrome that is installed. */
export async function launchBrowser(): Promise<Browser> {
  if (Deno.build.os === "linux" && Deno.build.arch === "x86_64") {
    return await chromium.launch({ executablePath: await unpackBundled(), args: FLAGS, ...SIGNALS });
  }
  return await chromium.launch({ channel: "chrome", ...SIGNALS });
}

/**
 * The package unpacks itself to a fixed name in the folder for temporary files, where another user's copy may be in the way
 * and one that was cut short is taken for whole. So it is unpacked into a folder of this user's, which is renamed last.
 */
async function unpackBundled(): Promise<string> {
  const folder = join(tmpdir(), `keyframe-chromium-${Deno.uid()}`);
  const program = join(folder, "chromium");
  const info = await Deno.lstat(folder).catch(() => undefined);
  if (info?.isDirectory && info.uid === Deno.uid() && (await Deno.stat(program).catch(() => undefined))) return program;
  const unfinished = await Deno.makeTempDir({ prefix: "keyframe-chromium-" });
  const kept = Deno.env.get("TMPDIR");
  // The package asks node:os where to unpack, and that reads this variable.
  Deno.env.set("TMPDIR", unfinished);
  try {
    await bundled.executablePath();
  } finally {
    if (kept === undefined) Deno.env.delete("TMPDIR");
    else Deno.env.set("TMPDIR", kept);
  }
  try {
    await Deno.rename(unfinished, folder);
    return program;
  } catch {
    // Somebody has the name: this one stays where it is for once.
    return join(unfinished, "chromium");
  }
}

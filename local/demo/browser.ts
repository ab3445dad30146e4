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

/** A headless browser: the Chromium that comes from npm on 64-bit Linux, elsewhere the Chrome that is installed. */
export async function launchBrowser(): Promise<Browser> {
  if (Deno.build.os === "linux" && Deno.build.arch === "x86_64") {
    return await chromium.launch({ executablePath: await bundled.executablePath(), args: FLAGS });
  }
  return await chromium.launch({ channel: "chrome" });
}

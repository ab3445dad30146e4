import { keptSession } from "../demo/browser.ts";
import { join } from "node:path";
import type { Session } from "@supabase/supabase-js";
import type { Browser, Page } from "playwright-core";

/** A page; `show` selects the part whose end is scrolled to. `size` is that of the window. */
type Shot = { name: string; path: string; show?: string; size?: { width: number; height: number } };

type Options = { browser: Browser; url: string; session: Session; shots: Shot[]; folder: string };

/** Takes a picture of each page in each colour scheme. */
export async function takePictures({ browser, url, session, shots, folder }: Options): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    const context = await browser.newContext({
      colorScheme,
      storageState: keptSession(url, session),
      locale: "en-GB",
      timezoneId: "Europe/Berlin",
      reducedMotion: "reduce",
    });
    for (const { name, path, show, size = { width: 1280, height: 800 } } of shots) {
      const page = await context.newPage();
      await page.setViewportSize(size);
      await page.goto(`${url}/#${path}`);
      await untilWhole(page);
      if (show !== undefined) await page.locator(show).evaluate((element) => element.scrollIntoView({ block: "end" }));
      const file = join(folder, `${name}-${colorScheme}.png`);
      const bytes = await page.screenshot();
      await Deno.writeFile(file, bytes);
      console.log(`${file}  ${Math.round(bytes.length / 1000)} kB`);
      await page.close();
    }
    await context.close();
  }
}

/** Waits until the page has loaded and drawn everything. */
async function untilWhole(page: Page): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.waitForLoadState("networkidle");
  await page.locator(".mantine-Skeleton-root").first().waitFor({ state: "detached" });
  // Headless Chromium draws no scroll bar, so its space is removed.
  await page.addStyleTag({ content: "html { scrollbar-gutter: auto }" });
  await page.evaluate(async () => {
    for (const image of document.images) image.loading = "eager";
    await Promise.all([...document.images].map((image) => image.decode().catch(() => undefined)));
    for (const video of document.querySelectorAll("video")) {
      video.muted = true; // a player that has never played shows a spinner
      await video.play();
      video.pause();
    }
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  });
}

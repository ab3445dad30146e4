import { join } from "node:path";
import type { Session } from "@supabase/supabase-js";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { shrinkPng } from "./shrink-png.ts";

/** A page; `show` is what must be seen of it, where that is not its top. */
export type Shot = { name: string; path: string; show?: string };

type Options = { browser: Browser; url: string; session: Session; shots: Shot[]; folder: string };

/** With the space below it. */
const HEADER_HEIGHT = 76;
const DESK = { viewport: { width: 1280, height: 800 } };
const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

const LOOKS: { suffix: string; context: BrowserContextOptions }[] = [
  { suffix: "light", context: { ...DESK, colorScheme: "light" } },
  { suffix: "dark", context: { ...DESK, colorScheme: "dark" } },
  { suffix: "phone", context: { ...PHONE, colorScheme: "light" } },
];

/** Photographs each page in each look. */
export async function takePictures({ browser, url, session, shots, folder }: Options): Promise<void> {
  const key = `sb-${new URL(url).hostname.split(".")[0]}-auth-token`;
  const kept = {
    cookies: [],
    origins: [{ origin: url, localStorage: [{ name: key, value: JSON.stringify(session) }] }],
  };
  for (const { suffix, context: look } of LOOKS) {
    const context = await browser.newContext({
      ...look,
      storageState: kept,
      locale: "en-GB",
      timezoneId: "Europe/Berlin",
      reducedMotion: "reduce",
    });
    for (const { name, path, show } of shots) {
      const page = await context.newPage();
      await page.goto(`${url}/#${path}`);
      await untilWhole(page);
      if (show !== undefined) await page.locator(show).evaluate(scrollTo, HEADER_HEIGHT);
      const file = join(folder, `${name}-${suffix}.png`);
      const bytes = await shrinkPng(await page.screenshot());
      await Deno.writeFile(file, bytes);
      console.log(`${file}  ${Math.round(bytes.length / 1000)} kB`);
      await page.close();
    }
    await context.close();
  }
}

/** Waits until all that a page shows has been read and drawn. */
async function untilWhole(page: Page): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.waitForLoadState("networkidle");
  await page.locator(".mantine-Skeleton-root").first().waitFor({ state: "detached" });
  // No bar to scroll with is drawn here, so there is no place to keep for it.
  await page.addStyleTag({ content: "html { scrollbar-gutter: auto }" });
  await page.evaluate(async () => {
    for (const image of document.images) image.loading = "eager";
    await Promise.all([...document.images].map((image) => image.decode().catch(() => undefined)));
    for (const video of document.querySelectorAll("video")) {
      video.muted = true; // a player that has never played shows a wheel
      await video.play();
      video.pause();
    }
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  });
}

/** To its end where it fits into the window, else to its top. Runs inside the page. */
function scrollTo(element: Element, headerHeight: number): void {
  const fits = element.clientHeight < window.innerHeight - headerHeight;
  element.scrollIntoView({ block: fits ? "end" : "start" });
  if (!fits) window.scrollBy(0, -headerHeight);
}

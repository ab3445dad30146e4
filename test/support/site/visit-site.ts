import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { serveSite } from "../../../site/serve.ts";
import { launchBrowser } from "../../../tools/demo/browser.ts";
import { axeFindings, DESK, PHONE, type Watch, watchPage } from "../dashboard/browser.ts";
import { BASE } from "./build-site.ts";

export const SITE = join(PROJECT_ROOT, "site", "dist");

/** Opens pages of the built site. Fails a test whose page asked another host for anything or wrote an error. */
export function visitSite() {
  let browser: Browser;
  let server: ReturnType<typeof serveSite>;
  let visits: { context: BrowserContext; watch: Watch }[] = [];
  beforeAll(async () => {
    server = serveSite(SITE, BASE, 0);
    browser = await launchBrowser();
  });
  afterEach(async () => {
    const seen = visits;
    visits = [];
    for (const { context } of seen) await context.close();
    expect(seen.flatMap(({ watch }) => watch.faults)).toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.shutdown();
  });
  return async (path: string, size: "phone" | "desk" = "desk", colorScheme: "light" | "dark" = "light") => {
    const origin = `http://127.0.0.1:${server.addr.port}`;
    const shape = size === "phone" ? PHONE : DESK;
    const context = await browser.newContext({
      ...shape,
      colorScheme,
      baseURL: origin,
      reducedMotion: "reduce",
      locale: "en-GB",
    });
    const page = await context.newPage();
    visits.push({ context, watch: watchPage(page, origin) });
    await page.goto(`${BASE}${path}`, { waitUntil: "networkidle" });
    return page;
  };
}

/** Axe finds nothing, and nothing is wider than the window. */
export async function expectReadable(page: Page): Promise<void> {
  const found = await axeFindings(page);
  const [width, most] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth] as const);
  if (width > most) found.push(`${width} px wide in a window of ${most} px`);
  expect(found, page.url()).toEqual([]);
}

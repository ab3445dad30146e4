import { gzipSync } from "node:zlib";
import type { Session } from "@supabase/supabase-js";
import type { Browser, BrowserContextOptions } from "playwright-core";

const PATIENCE_MS = 20_000;

/** A page of the dashboard; `heading` is what it shows when it is there. */
export type DashboardPage = { name: string; path: string; heading: string; isSignedIn: boolean };

export type Visit = {
  /** ms from the navigation to the first text or picture that the browser painted. */
  firstPaint: number;
  /** ms from the navigation until the page's own heading was there. */
  heading: number;
  /** Scripts loaded until nothing was loaded any more, as a host sends them, gzipped. In kB of 1,000 bytes. */
  scripts: number;
};

/** Opens a page for the first time, with nothing in the browser's cache. */
export async function visitPage(browser: Browser, url: string, page: DashboardPage, session: Session): Promise<Visit> {
  const context = await browser.newContext({
    baseURL: url,
    locale: "en-GB",
    ...(page.isSignedIn ? { storageState: keptSession(url, session) } : {}),
  });
  context.setDefaultTimeout(PATIENCE_MS);
  try {
    const tab = await context.newPage();
    const scripts: Promise<Uint8Array>[] = [];
    tab.on("response", (response) => {
      if (new URL(response.url()).pathname.endsWith(".js")) scripts.push(response.body());
    });
    await tab.goto(page.path);
    await tab.getByRole("heading", { name: page.heading, exact: true }).first().waitFor();
    const heading = await tab.evaluate(() => performance.now());
    await tab.waitForLoadState("networkidle");
    const firstPaint = await tab.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
    if (firstPaint === undefined) throw new Error(`${page.name} painted nothing.`);
    const sizes = (await Promise.all(scripts)).map((body) => gzipSync(body).length);
    return { firstPaint, heading, scripts: sizes.reduce((sum, size) => sum + size, 0) / 1000 };
  } finally {
    await context.close();
  }
}

/** As supabase-js keeps the session of a project at this address. */
function keptSession(url: string, session: Session): NonNullable<BrowserContextOptions["storageState"]> {
  const name = `sb-${new URL(url).hostname.split(".")[0]}-auth-token`;
  return { cookies: [], origins: [{ origin: url, localStorage: [{ name, value: JSON.stringify(session) }] }] };
}

import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, inject, vi } from "vitest";
import { launchBrowser } from "../../../tools/demo/browser.ts";
import { type Watch, watchPage } from "./watch.ts";

export type VisitOptions = {
  /** Signed in with this session from the start; supabase-js's own form. */
  session?: unknown;
  scheme?: "light" | "dark";
  /** Narrow as a phone. */
  isPhone?: boolean;
};

export type Visit = { page: Page; context: BrowserContext; watch: Watch; newTab(): Promise<Page> };

const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
const DESK = { viewport: { width: 1280, height: 800 } };

/** A step of a page that takes longer has failed. */
const TIMEOUT_MS = 20_000;

/** A test here is a dozen of such steps, beside whatever else keeps two cores busy. */
const TEST_MS = 120_000;

/**
 * One browser for the tests of a file, and for each visit a person's own profile in it. Fails a test whose pages talked to
 * another origin, wrote an error to the console or broke their Content-Security-Policy.
 */
export function visitDashboard(): (options?: VisitOptions) => Promise<Visit> {
  vi.setConfig({ testTimeout: TEST_MS });
  let browser: Browser;
  let visits: { context: BrowserContext; watches: Watch[] }[] = [];
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());
  afterEach(async () => {
    const seen = visits;
    visits = [];
    for (const { context } of seen) await context.close();
    expect(seen.flatMap(({ watches }) => watches.flatMap(({ faults }) => faults))).toEqual([]);
  });

  return async ({ session, scheme = "light", isPhone = false } = {}) => {
    const { url } = inject("stack");
    const context = await browser.newContext({
      ...(isPhone ? PHONE : DESK),
      baseURL: url,
      colorScheme: scheme,
      reducedMotion: "reduce", // what is still fading has colours that nobody chose
      locale: "en-GB",
      ...(session === undefined ? {} : { storageState: keptSession(url, session) }),
    });
    context.setDefaultTimeout(TIMEOUT_MS);
    const watches: Watch[] = [];
    visits.push({ context, watches });
    const open = async () => {
      const page = await context.newPage();
      watches.push(watchPage(page, url));
      return page;
    };
    const page = await open();
    // The first page's watch: it was put there a line above.
    return { page, context, watch: watches[0] as Watch, newTab: open };
  };
}

/** Where supabase-js keeps the session of a project at this address. */
export const sessionKey = (url: string): string => `sb-${new URL(url).hostname.split(".")[0]}-auth-token`;

function keptSession(url: string, session: unknown): NonNullable<BrowserContextOptions["storageState"]> {
  const localStorage = [{ name: sessionKey(url), value: JSON.stringify(session) }];
  return { cookies: [], origins: [{ origin: url, localStorage }] };
}

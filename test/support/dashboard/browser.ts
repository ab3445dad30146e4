import axe from "axe-core";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterEach, beforeAll, expect, inject, vi } from "vitest";
import { launchBrowser } from "../../../tools/demo/browser.ts";

type VisitOptions = {
  /** Signed in with this session from the start; supabase-js's own form. */
  session?: unknown;
  /** Narrow as a phone. */
  isPhone?: boolean;
  /** Opens this page. */
  at?: string;
  /** Console errors that are part of the test. */
  allow?: RegExp;
};

export type Visit = { page: Page; context: BrowserContext; watch: Watch; newTab(): Promise<Page> };

export const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
export const DESK = { viewport: { width: 1280, height: 800 } };

/** A step of a page that takes longer has failed. */
const TIMEOUT_MS = 60_000;

/** A test here is a dozen of such steps, beside whatever else keeps two cores busy. */
const TEST_MS = 120_000;

/** One for all files of this process; it ends with the process. */
let launched: Promise<Browser> | undefined;

/**
 * For each visit a person's own profile in a browser. Fails a test whose pages talked to another origin, wrote an error to the
 * console or broke their Content-Security-Policy.
 */
export function visitDashboard(): (options?: VisitOptions) => Promise<Visit> {
  vi.setConfig({ testTimeout: TEST_MS });
  let browser: Browser;
  let visits: { context: BrowserContext; watches: Watch[] }[] = [];
  beforeAll(async () => {
    launched ??= launchBrowser();
    browser = await launched;
  });
  afterEach(async () => {
    const seen = visits;
    visits = [];
    for (const { context } of seen) await context.close();
    expect(seen.flatMap(({ watches }) => watches.flatMap(({ faults }) => faults))).toEqual([]);
  });

  return async ({ session, isPhone = false, at, allow } = {}) => {
    const { url } = inject("stack");
    const context = await browser.newContext({
      ...(isPhone ? PHONE : DESK),
      baseURL: url,
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
    const watch = watches[0] as Watch; // the first page's: it was put there a line above
    if (allow !== undefined) watch.allow(allow);
    if (at !== undefined) await page.goto(at);
    return { page, context, watch, newTab: open };
  };
}

/** What no page may do, and what this one did all the same. */
export type Watch = {
  /** Requests to other origins, errors on the console, uncaught errors, breaches of the policy; in their order. */
  faults: string[];
  /** From now on a console error that this matches is part of the test. */
  allow(expected: RegExp): void;
};

/** Watches a page from before its first request. `origin` is the only one it may talk to. */
export function watchPage(page: Page, origin: string): Watch {
  const faults: string[] = [];
  const allowed: RegExp[] = [];
  const note = (fault: string) => {
    if (!allowed.some((expected) => expected.test(fault))) faults.push(fault);
  };
  page.on("request", (request) => {
    const { protocol, origin: asked } = new URL(request.url());
    if (protocol !== "data:" && protocol !== "blob:" && asked !== origin) note(`request to ${request.url()}`);
  });
  // Breaches of the Content-Security-Policy are reported here too.
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") {
      note(`console: ${message.text()} (${message.location().url})`);
    }
  });
  page.on("pageerror", (error) => note(`uncaught: ${error.message}`));
  return { faults, allow: (expected) => void allowed.push(expected) };
}

/** Waits for a heading that is visible. Looks in each frame: a locator that waits looks every half second. */
export async function untilHeading(page: Page, title: string): Promise<void> {
  const isShown = (words: string) =>
    [...document.querySelectorAll("h1, h2, h3, h4")].some(
      (one) => one.textContent?.trim() === words && one.checkVisibility(),
    );
  await page.waitForFunction(isShown, title);
}

/** What axe finds wrong on a page as it stands, by all its rules or these alone: one line for each element. */
export async function axeFindings(page: Page, rules: string[] = []): Promise<string[]> {
  // Not as a script of the page: the Content-Security-Policy forbids that, as it should.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  return await page.evaluate(async (only) => {
    const options: axe.RunOptions = { resultTypes: ["violations"], ...(only.length === 0 ? {} : { runOnly: only }) };
    // Put there by the line above.
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run(document, options);
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
    );
  }, rules);
}

/** Of a page that is not the dashboard's. */
export const expectNoFindings = async (page: Page): Promise<void> => expect(await axeFindings(page)).toEqual([]);

const NARROW = { width: 360, height: 780 };

async function untilNothingFades(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const frame = () => new Promise(requestAnimationFrame);
    const isFading = () => document.getAnimations().some((one) => one instanceof CSSTransition);
    do await frame();
    while (isFading());
  });
}

/** Labels of buttons that are cut off. Some are cut on purpose, and a button that is loading has a part without a text. */
const cutLabels = (page: Page): Promise<string[]> =>
  page.$$eval("button *:not([data-truncate])", (parts) =>
    parts
      .filter((part) => part.textContent !== "" && part.clientWidth > 0 && part.scrollWidth > part.clientWidth + 1)
      .map((part) => `cut off on a phone: ${part.textContent}`),
  );

/**
 * Of a page as it stands, also inside of another test: axe finds nothing in light and in dark, and 360 px are wide enough, for all labels
 * too. The page is left in the other colour scheme.
 */
export async function expectGoodLooks(page: Page): Promise<void> {
  const scheme = await page.evaluate(() => (matchMedia("(prefers-color-scheme: dark)").matches ? "light" : "dark"));
  await untilNothingFades(page);
  const found = await axeFindings(page);
  await page.emulateMedia({ colorScheme: scheme });
  await page.locator(`html[data-mantine-color-scheme=${scheme}]`).waitFor({ state: "attached" });
  await untilNothingFades(page);
  found.push(...(await axeFindings(page, ["color-contrast"])).map((finding) => `in ${scheme}, ${finding}`));
  const size = page.viewportSize() ?? DESK.viewport;
  await page.setViewportSize(NARROW);
  // An open menu follows the window in one of the next frames.
  const fits = (most: number) => document.documentElement.scrollWidth <= most;
  await page.waitForFunction(fits, NARROW.width, { timeout: 2_000 }).catch(() => undefined);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  if (width > NARROW.width) found.push(`${width} px wide in a window of ${NARROW.width} px`);
  found.push(...(await cutLabels(page)));
  await page.setViewportSize(size);
  expect(found, page.url()).toEqual([]);
}

/** The buttons of a page that stand out. */
export const primaries = (page: Page) => page.locator("main button[data-variant=filled]").allTextContents();

/** Where supabase-js keeps the session of a project at this address. */
export const sessionKey = (url: string): string => `sb-${new URL(url).hostname.split(".")[0]}-auth-token`;

function keptSession(url: string, session: unknown): NonNullable<BrowserContextOptions["storageState"]> {
  const localStorage = [{ name: sessionKey(url), value: JSON.stringify(session) }];
  return { cookies: [], origins: [{ origin: url, localStorage }] };
}

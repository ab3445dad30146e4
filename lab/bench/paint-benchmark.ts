import type { Session } from "@supabase/supabase-js";
import type { Browser } from "playwright-core";
import { createKeyframeClient } from "../../client/index.ts";
import { keptSession, launchBrowser } from "../../tools/demo/browser.ts";
import { makeFilms, makeWebhooks, sendTests } from "../../tools/screenshots/make-data.ts";
import type { BenchContext, Benchmark, Result } from "./benchmark.ts";
import { type Spread, spreadOf } from "./measure.ts";
import type { BenchStack } from "./stack.ts";

const ROUNDS = 7;
const VIEWPORT = { width: 1280, height: 800 };

/** A page, its address, and what shows when it is read. */
type Visited = { name: string; path: string; shows: string; session?: Session };
type Paints = { first: number; largest: number };

export const paintBenchmark: Benchmark = {
  name: "paint",
  run: async (context) => {
    const stack = await context.openStack({ dashboard: true });
    const { pages, stop } = await furnish(stack);
    const browser = await launchBrowser();
    try {
      return await visitAll(context, browser, stack.url, pages);
    } finally {
      await browser.close();
      await stop();
    }
  },
};

async function visitAll(
  { quick, progress }: BenchContext,
  browser: Browser,
  url: string,
  pages: Visited[],
): Promise<Result> {
  const rounds = quick ? 1 : ROUNDS;
  const measured = new Map(pages.map(({ name }) => [name, [] as Paints[]]));
  for (const page of pages) await visit(browser, url, page); // fills the server's caches
  const [load = 0] = Deno.loadavg();
  for (let round = 1; round <= rounds; round++) {
    for (const page of pages) {
      progress(`round ${round} of ${rounds}: ${page.name}`);
      measured.get(page.name)?.push(await visit(browser, url, page));
    }
  }
  const rows = [...measured].map(([name, paints]) => ({
    name,
    cells: [spreadOf(paints.map(({ first }) => first)), spreadOf(paints.map(({ largest }) => largest))] as const,
  }));
  const slowest = (column: 0 | 1): Spread =>
    rows.map(({ cells }) => cells[column]).reduce((one, other) => (one.median > other.median ? one : other));
  return {
    aims: [
      { name: "first contentful paint of the slowest page, ms", value: slowest(0), atMost: 600 },
      { name: "largest contentful paint of the slowest page, ms", value: slowest(1), atMost: 1200 },
    ],
    tables: [
      {
        caption: `first visit, ms (load of the machine before: ${load.toFixed(1)})`,
        columns: ["first contentful paint", "largest contentful paint"],
        rows: rows.map(({ name, cells }) => ({ name, cells: [...cells] })),
      },
    ],
  };
}

/** Visits a page in a browser profile that has no cache, until nothing is loading any more. */
async function visit(browser: Browser, url: string, { path, shows, session }: Visited): Promise<Paints> {
  const context = await browser.newContext({
    ...{ baseURL: url, viewport: VIEWPORT },
    ...(session === undefined ? {} : { storageState: keptSession(url, session) }),
  });
  try {
    const page = await context.newPage();
    await page.goto(path);
    await page.locator(shows).first().waitFor();
    await page.waitForLoadState("networkidle");
    return await page.evaluate(async () => {
      const last = (type: string) =>
        new Promise<number>((resolve) => {
          const observer = new PerformanceObserver((list) => {
            resolve(list.getEntries().at(-1)?.startTime ?? Number.NaN);
            observer.disconnect();
          });
          observer.observe({ type, buffered: true });
        });
      const first = performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.NaN;
      return { first, largest: await last("largest-contentful-paint") };
    });
  } finally {
    await context.close();
  }
}

/** The demo user's films and endpoints, and the pages that show them. */
async function furnish({
  caller: { url, apikey, token },
  session,
}: BenchStack): Promise<{ pages: Visited[]; stop: () => Promise<void> }> {
  const keyframe = createKeyframeClient({ url, apikey, getToken: () => token });
  const { webhookId, stop } = await makeWebhooks(keyframe);
  const projectId = await makeFilms(keyframe);
  await sendTests(keyframe, webhookId);
  const pages = [
    { name: "sign in", path: "/", shows: "h1, h2" },
    { name: "projects", path: "/#/projects", shows: "article", session },
    { name: "a film", path: `/#/projects/${projectId}`, shows: "video", session },
    { name: "endpoints", path: "/#/webhooks", shows: "article, main a[href*='/webhooks/']", session },
    { name: "an endpoint", path: `/#/webhooks/${webhookId}`, shows: "main h2", session },
    { name: "the API reference", path: "/#/docs", shows: ".opblock", session },
  ];
  return { pages, stop };
}

import { gzipSync } from "node:zlib";
import type { Session } from "@supabase/supabase-js";
import type { Browser } from "playwright-core";
import { buildDashboard } from "../../local/stack/build-dashboard.ts";
import { keptSession, launchBrowser } from "../../tools/demo/browser.ts";
import type { Aim, BenchContext, Benchmark, Result } from "./benchmark.ts";
import { spreadOf } from "./measure.ts";

const VISITS = { full: 9, quick: 1 };
const MOST_SCRIPTS_KB = 250;
const MOST_PAINT_MS = 1_000;

/** The pages where a visit begins. The others load more when they are opened. */
const FIRST_PAGES = ["sign in", "projects"];

const PAGES: DashboardPage[] = [
  { name: "sign in", path: "/", heading: "Sign in", isSignedIn: false },
  { name: "projects", path: "/#/projects", heading: "Projects", isSignedIn: true },
  { name: "webhooks", path: "/#/webhooks", heading: "Webhooks", isSignedIn: true },
  { name: "documentation", path: "/#/docs", heading: "Docs", isSignedIn: true },
];

export const dashboardBenchmark: Benchmark = {
  name: "dashboard",
  title: "The dashboard",
  work: "A first visit of each page in the bundled browser, with nothing in its cache, served by the local stack.",
  run: measureDashboard,
};

async function measureDashboard({ quick, stack, progress }: BenchContext): Promise<Result> {
  await buildDashboard();
  const running = await stack();
  const visits = new Map<string, Visit[]>();
  const browser = await launchBrowser();
  try {
    for (let round = 0; round < VISITS[quick ? "quick" : "full"]; round++) {
      progress(`visit ${round + 1}`);
      for (const page of PAGES) {
        const visit = await visitPage(browser, running.url, page, running.session);
        visits.set(page.name, [...(visits.get(page.name) ?? []), visit]);
      }
    }
  } finally {
    await browser.close();
  }
  return describeVisits([...visits]);
}

function describeVisits(visits: [name: string, visits: Visit[]][]): Result {
  const spread = (of: Visit[], pick: (visit: Visit) => number) => spreadOf(of.map(pick));
  const worst = (pages: string[], pick: (visit: Visit) => number) =>
    visits
      .filter(([name]) => pages.includes(name))
      .map(([, each]) => spread(each, pick))
      .reduce((most, next) => (next.median > most.median ? next : most));
  const all = visits.map(([name]) => name);
  const aims: Aim[] = [
    {
      name: "first paint of the slowest page, in 1 s",
      ratio: worst(all, ({ firstPaint }) => firstPaint / MOST_PAINT_MS),
      atMost: 1,
    },
    {
      name: `scripts of the larger of ${FIRST_PAGES.join(" and ")}, in ${MOST_SCRIPTS_KB} kB`,
      ratio: worst(FIRST_PAGES, ({ scripts }) => scripts / MOST_SCRIPTS_KB),
      atMost: 1,
    },
  ];
  return {
    aims,
    tables: [
      {
        caption: "from the navigation until there is something to see, and until the page is there",
        unit: "ms",
        columns: ["first paint", "heading"],
        rows: visits.map(([name, each]) => ({
          name,
          cells: [spread(each, ({ firstPaint }) => firstPaint), spread(each, ({ heading }) => heading)],
        })),
      },
      {
        caption: "JavaScript of a first visit, gzipped",
        unit: "kB",
        columns: ["scripts"],
        rows: visits.map(([name, each]) => ({ name, cells: [spread(each, ({ scripts }) => scripts)] })),
      },
    ],
  };
}

const PATIENCE_MS = 20_000;

/** A page of the dashboard; `heading` shows that it has loaded. */
type DashboardPage = { name: string; path: string; heading: string; isSignedIn: boolean };

type Visit = {
  /** ms from the navigation to the first painted text or picture. */
  firstPaint: number;
  /** ms from the navigation to the page's own heading. */
  heading: number;
  /** All scripts until the network is idle, gzipped, in kB of 1,000 bytes. */
  scripts: number;
};

/** Opens a page with an empty cache. */
async function visitPage(browser: Browser, url: string, page: DashboardPage, session: Session): Promise<Visit> {
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

import { createClient, type Session } from "@supabase/supabase-js";
import { launchBrowser } from "../../../tools/demo/browser.ts";
import { buildDashboard } from "../../../local/stack/build-dashboard.ts";
import type { Stack } from "../../../local/stack/start-stack.ts";
import type { Aim, Benchmark, BenchContext, Result } from "../benchmark.ts";
import { spreadOf } from "../measure/spread.ts";
import { type DashboardPage, type Visit, visitPage } from "./visit-page.ts";

const VISITS = { full: 9, quick: 1 };
const MOST_SCRIPTS_KB = 250;
const MOST_PAINT_MS = 1_000;

/** Where a visit begins: the other pages load what more they need when somebody goes there. */
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
  const session = await signIn(running);
  const visits = new Map<string, Visit[]>();
  const browser = await launchBrowser();
  try {
    for (let round = 0; round < VISITS[quick ? "quick" : "full"]; round++) {
      progress(`visit ${round + 1}`);
      for (const page of PAGES) {
        const visit = await visitPage(browser, running.url, page, session);
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
        plot: "bars",
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

async function signIn({ url, keys, demoUser }: Stack): Promise<Session> {
  const supabase = createClient(url, keys.publishableKey, { auth: { persistSession: false, autoRefreshToken: false } });
  const { data, error } = await supabase.auth.signInWithPassword(demoUser);
  if (error) throw error;
  return data.session;
}

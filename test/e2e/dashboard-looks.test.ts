import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { axeFindings } from "../support/dashboard-axe.ts";
import { visitDashboard } from "../support/dashboard-browser.ts";
import { newPerson, type Person } from "../support/dashboard-person.ts";
import {
  type Belongings,
  brokenTour,
  emptyTour,
  fullTour,
  furnish,
  type Stop,
  signedOutTour,
  untilRead,
} from "../support/dashboard-tour.ts";
import { type FlowReceiver, startFlowReceiver } from "../support/flow-receiver.ts";
import { answers } from "../support/flow-receiver-habits.ts";

const visit = visitDashboard();
let receiver: FlowReceiver;
let newcomer: Person;
let owner: Person;
let belongings: Belongings;

beforeAll(async () => {
  receiver = await startFlowReceiver(answers(500));
  [newcomer, owner] = await Promise.all([newPerson(), newPerson()]);
  belongings = await furnish(owner, receiver.url);
});
afterAll(() => receiver?.close());

const tours = (): { who: Person | null; stops: Stop[]; isWhole: boolean }[] => [
  { who: null, stops: signedOutTour, isWhole: true },
  { who: newcomer, stops: emptyTour, isWhole: true },
  { who: owner, stops: fullTour(belongings), isWhole: true },
  { who: owner, stops: brokenTour(belongings), isWhole: false },
];

/** Goes to every page in every state and collects what `look` finds there. */
async function findings(options: { scheme?: "light" | "dark"; isPhone?: boolean }, look: Look): Promise<string[]> {
  const found: string[] = [];
  for (const { who, stops, isWhole } of tours()) {
    const { page, watch } = await visit({ ...options, ...(who === null ? {} : { session: who.session }) });
    watch.allow(isWhole ? /status of 412/ : /Failed to load resource/);
    for (const { name, go } of stops) {
      await go(page);
      if (isWhole) await untilRead(page);
      found.push(...(await look(page)).map((finding) => `${name}: ${finding}`));
    }
  }
  return found;
}

type Look = (page: Page) => Promise<string[]>;

describe.each(["light", "dark"] as const)("%s", (scheme) => {
  test("every page in every state → axe finds nothing", async () => {
    expect(await findings({ scheme }, axeFindings)).toEqual([]);
  });
});

test("every page 390 px wide → nothing to scroll sideways", async () => {
  const tooWide: Look = (page) =>
    page.evaluate(() => {
      const { scrollWidth, clientWidth } = document.documentElement;
      return scrollWidth > clientWidth ? [`${scrollWidth} px wide in a window of ${clientWidth} px`] : [];
    });
  expect(await findings({ isPhone: true }, tooWide)).toEqual([]);
});

test("a phone → the burger opens the pages, following one closes it and puts the focus on the page", async () => {
  const { page } = await visit({ session: newcomer.session, isPhone: true });
  await page.goto("/#/projects");
  await page.getByRole("heading", { level: 1, name: "Projects" }).waitFor();
  expect(await page.getByRole("navigation").count()).toBe(0);
  const burger = page.getByRole("button", { name: "Open navigation" });
  expect(await burger.getAttribute("aria-expanded")).toBe("false");
  await burger.click();
  const pages = page.getByRole("navigation", { name: "Pages" });
  expect(await pages.getByRole("link").allTextContents()).toEqual(["Projects", "Webhooks", "Docs"]);
  expect(await axeFindings(page)).toEqual([]);
  await pages.getByRole("link", { name: "Webhooks" }).click();
  await page.getByRole("heading", { level: 1, name: "Webhooks" }).waitFor();
  await pages.waitFor({ state: "detached" });
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("MAIN");
});

test("a script put into a page, an image and a call from elsewhere → refused by its policy, and noticed", async () => {
  const { page, watch } = await visit();
  await page.goto("/");
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  const ran = await page.evaluate(async () => {
    const script = document.createElement("script");
    script.textContent = "globalThis.ran = true";
    const image = document.createElement("img");
    image.src = "https://elsewhere.example/pixel.png";
    document.body.append(script, image);
    await fetch("https://elsewhere.example/").catch(() => undefined);
    return "ran" in globalThis;
  });
  expect(ran).toBe(false);
  const faults = watch.faults.splice(0).join("\n");
  for (const directive of ["script-src", "img-src", "connect-src"]) expect(faults).toContain(directive);
});

import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { axeFindings } from "../support/dashboard/axe.ts";
import { visitDashboard } from "../support/dashboard/browser.ts";
import { newPerson, type Person } from "../support/dashboard/person.ts";
import {
  type Belongings,
  brokenTour,
  emptyTour,
  fullTour,
  furnish,
  type Stop,
  signedOutTour,
  untilRead,
} from "../support/dashboard/tour.ts";
import { type FlowReceiver, startFlowReceiver } from "../support/receiver/receiver.ts";
import { answers } from "../support/receiver/habits.ts";

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

type Tour = { who: Person | null; stops: Stop[]; isWhole: boolean };
const TOURS: Record<string, () => Tour> = {
  "signed out": () => ({ who: null, stops: signedOutTour, isWhole: true }),
  "with nothing yet": () => ({ who: newcomer, stops: emptyTour, isWhole: true }),
  "with a film and an endpoint": () => ({ who: owner, stops: fullTour(belongings), isWhole: true }),
  "while the service fails": () => ({ who: owner, stops: brokenTour(belongings), isWhole: false }),
};

const DESK = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

/** Ends when nothing is fading any more. */
async function switchTo(page: Page, colorScheme: "light" | "dark"): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor({ state: "attached" });
  await page.evaluate(async () => {
    const frame = () => new Promise(requestAnimationFrame);
    const isFading = () => document.getAnimations().some((one) => one instanceof CSSTransition);
    do await frame();
    while (isFading());
  });
}

/** Of a page as it stands: what axe finds in light and in dark, and whether a phone has to scroll sideways. */
async function findings(page: Page): Promise<string[]> {
  const found = await axeFindings(page);
  await switchTo(page, "dark");
  found.push(...(await axeFindings(page, ["color-contrast"])).map((finding) => `dark, ${finding}`));
  await switchTo(page, "light");
  await page.setViewportSize(PHONE);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  if (width > PHONE.width) found.push(`${width} px wide in a window of ${PHONE.width} px`);
  await page.setViewportSize(DESK);
  return found;
}

test.each(Object.entries(TOURS))(
  "every page %s → axe finds nothing in light and in dark, and 390 px are wide enough",
  async (_state, tour) => {
    const { who, stops, isWhole } = tour();
    const found: string[] = [];
    const { page, watch } = await visit(who === null ? {} : { session: who.session });
    watch.allow(isWhole ? /status of 412/ : /Failed to load resource/);
    for (const { name, go } of stops) {
      await go(page);
      if (isWhole) await untilRead(page);
      found.push(...(await findings(page)).map((finding) => `${name}: ${finding}`));
    }
    expect(found).toEqual([]);
  },
);

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

import type { Page, Route } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectGoodLooks, untilHeading, visitDashboard } from "../support/dashboard/browser.ts";
import {
  cutOff,
  newFilmOfTwoFrames,
  openNewProject,
  openProject,
  openSettings,
  photoFile,
  stepCard,
  untilFocused,
  untilGenerateIsInWindow,
} from "../support/dashboard/film.ts";
import { type Belongings, furnish, newPerson, type Person } from "../support/dashboard/person.ts";
import { answers } from "../support/receiver/habits.ts";
import { type FlowReceiver, startFlowReceiver } from "../support/receiver/receiver.ts";
import { until } from "../support/until.ts";

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

test("a phone → the burger opens the list of pages; following one closes it and focuses the page", async () => {
  const { page } = await visit({ session: newcomer.session, isPhone: true, at: "/#/projects" });
  await page.getByRole("heading", { level: 1, name: "Projects" }).waitFor();
  expect(await page.getByRole("navigation").count()).toBe(0);
  const burger = page.getByRole("button", { name: "Open navigation" });
  expect(await burger.getAttribute("aria-expanded")).toBe("false");
  await burger.click();
  const pages = page.getByRole("navigation", { name: "Pages" });
  expect(await pages.getByRole("link").allTextContents()).toEqual([
    "Projects",
    "Films",
    "Elements",
    "Webhooks",
    "Keys",
    "Usage",
  ]);
  await expectGoodLooks(page);
  await pages.getByRole("link", { name: "Webhooks" }).click();
  await page.getByRole("heading", { level: 1, name: "Webhooks" }).waitFor();
  await pages.waitFor({ state: "detached" });
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("MAIN");
});

test("a phone → shows first frame, last frame, video; the last used step is shown again after a reload", async () => {
  const { person, projectId } = await newFilmOfTwoFrames();
  const { page } = await visit({ session: person.session, isPhone: true });
  await openProject(page, projectId);
  const names = page.getByRole("region", { name: "Steps" }).getByRole("heading", { level: 2 });
  expect(await names.allTextContents()).toEqual(["First frame", "Last frame", "Video"]);
  await page.setViewportSize({ width: 360, height: 844 });
  await stepCard(page, "Video").getByRole("img").last().waitFor();
  expect(await cutOff(stepCard(page, "Video"))).toEqual([]);
  await stepCard(page, "Video").getByRole("button", { name: "Settings" }).tap();
  await page.evaluate(() => scrollTo(0, 0));
  await page.reload();
  await until("the video is in sight", async () => {
    const top = (await stepCard(page, "Video").boundingBox())?.y;
    return top !== undefined && top < 844 / 2;
  });
});

/** Presses Tab until what has the focus has this name; it says which names it met when there is none. */
async function tabTo(page: Page, name: string): Promise<void> {
  const met: string[] = [];
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => {
      const element = document.activeElement;
      const labels =
        element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement ? element.labels : [];
      return (labels?.[0]?.textContent ?? element?.getAttribute("aria-label") ?? element?.textContent ?? "").trim();
    });
    if (focused === name) return;
    met.push(focused);
  }
  throw new Error(`The Tab key does not lead to "${name}", but to: ${met.join(" | ")}`);
}

test("keyboard only → signs in, and makes a project", async () => {
  const person = await newPerson();
  const { page } = await visit({ at: "/" });
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await tabTo(page, "Email");
  await page.keyboard.type(person.email);
  await tabTo(page, "Password");
  await page.keyboard.type(person.password);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "No projects yet" }).waitFor();
  await tabTo(page, "New project");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "New project" }).getByLabel("Title").waitFor();
  await untilFocused(page.getByLabel("Title"));
  await page.keyboard.type("By keyboard");
  await page.keyboard.press("Enter");
  await page.getByText("Enter a prompt.").waitFor();
  expect(await page.getByLabel("Prompt").evaluate((field) => field === document.activeElement)).toBe(true);
  await page.keyboard.type("A harbour at dawn");
  await tabTo(page, "Create project");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "By keyboard" }).waitFor();
});

test("Ctrl+Enter → generates the next step from the project's prompt, and that step from a step's settings", async () => {
  const { person, projectId, page } = await openNewProject(visit);
  await stepCard(page, "First frame").getByText("about $").waitFor();
  await page.getByLabel("Prompt", { exact: true }).fill("A harbour in fog");
  await page.keyboard.press("Control+Enter");
  await stepCard(page, "First frame").getByText("Done").waitFor();
  const card = await openSettings(page, "Last frame");
  await card.getByLabel("Prompt for this step").fill("At night");
  await page.keyboard.press("Control+Enter");
  await card.getByText("Done").waitFor();
  const { predictions } = await person.keyframe.projects.read(projectId);
  const prompts = [predictions["first-frame"], predictions["last-frame"], predictions.video].map(
    (one) => one?.input.prompt,
  );
  expect(prompts).toEqual(["A harbour in fog", "At night", undefined]);
});

test("1280 × 800, the longest texts, a reference image → every Generate button is visible, the title is cut", async () => {
  const person = await newPerson();
  const title = "A harbour at dawn, take one, ".repeat(7).slice(0, 200);
  const { referenceImagePath } = await person.keyframe.uploadReferenceImage(photoFile(person.email).buffer);
  const texts = { title, textPrompt: "A harbour at dawn, fog. ".repeat(160) };
  const { projectId } = await person.keyframe.projects.create(texts);
  await person.keyframe.projects.change(projectId, { referenceImagePath });
  const { page } = await visit({ session: person.session, at: `/#/projects/${projectId}` });
  await page.getByRole("img", { name: "Reference image" }).waitFor();
  await page.getByRole("button", { name: "Description" }).click();
  await page.getByLabel("Description", { exact: true }).waitFor();
  await untilGenerateIsInWindow(page);
  expect((await page.getByRole("heading", { level: 1 }).boundingBox())?.height).toBeLessThan(50);
  await expectGoodLooks(page);
});

/** Leads to a page of the dashboard in one of its states, and ends when it shows. */
type Stop = (page: Page) => Promise<void>;

const at =
  (path: string, title: string): Stop =>
  async (page) => {
    await page.goto(`/#${path}`);
    await untilHeading(page, title);
  };

const press =
  (button: string | RegExp, shows: string): Stop =>
  async (page) => {
    await page.getByRole("button", { name: button }).first().click();
    await page.getByText(shows).first().waitFor();
  };

const signedOut: Stop[] = [
  at("/sign-in", "Sign in"),
  press(/^Sign in$/, "Enter your password."),
  async (page) => {
    const fields = ["Email", "Password"].map((name) => page.getByLabel(name, { exact: true }));
    for (const field of fields) expect(await field.getAttribute("aria-invalid")).toBe("true");
  },
  at("/sign-up", "Create an account"),
  at("/reset-password", "Reset your password"),
  async (page) => {
    await page.getByLabel("Email").fill("nobody@keyframe.local");
    await press("Send reset link", "Check your email")(page);
  },
];

/** Of somebody who has just signed up. */
const withNothing: Stop[] = [
  at("/projects", "No projects yet"),
  at("/films", "No films yet"),
  press("New film", "Create film"),
  at("/elements", "No elements yet"),
  at("/webhooks", "No endpoints yet"),
  at("/usage", "This month $0.00"),
  at("/new-password", "Set a new password"),
];

/** Of somebody who has everything. The tests of what people do look at all other states. */
const withEverything = ({ emptyProjectId, webhookId }: Belongings): Stop[] => [
  at("/projects", "Harbour"),
  press("New project", "The scene to generate."),
  press("Create project", "Enter a prompt."),
  async (page) => {
    await page.keyboard.press("Escape");
    // A search that goes on by itself: as answers among more projects than the database looks through at once.
    const none = { success: true, data: { projects: [], nextCursor: "more" }, error: null };
    await page.route("**/projects?*search=older*", (route) =>
      route.request().url().includes("cursor=") ? undefined : route.fulfill({ json: none }),
    );
    await page.getByLabel("Search projects").fill("older");
    await page.getByText("Searching older projects…").waitFor();
  },
  at("/films", "The pier"),
  at("/elements", "Elements"),
  at(`/projects/${emptyProjectId}`, "Nothing yet"),
  at("/webhooks", "The edit suite"),
  at(`/webhooks/${webhookId}`, "The edit suite"),
  at("/nowhere", "Page not found"),
];

/** While the service has a fault, and at last while it is not there. */
function whileItFails({ projectId, filmId, webhookId }: Belongings): Stop[] {
  const API = "**/functions/v1/api/**";
  const error = { code: "internal", message: "Something went wrong on our side.", requestId: "r", details: [] };
  const failing =
    (
      path: string,
      shows: string,
      answer = (route: Route) => route.fulfill({ status: 500, json: { success: false, data: null, error } }),
    ): Stop =>
    async (page) => {
      await page.unroute(API);
      await page.route(API, answer);
      await page.goto(`/#${path}`);
      await page.reload(); // nothing is remembered
      await page.getByText(shows).first().waitFor();
    };
  return [
    failing("/projects", "Could not load projects"),
    failing(`/projects/${projectId}`, "Could not load the project"),
    failing(`/films/${filmId}`, "Could not load the film"),
    failing(`/webhooks/${webhookId}`, "Could not load the endpoint"),
    failing("/projects", "Cannot reach the service.", (route) => route.abort()),
  ];
}

test.each<[string, () => Person | null, () => Stop[]]>([
  ["signed out", () => null, () => signedOut],
  ["with nothing yet", () => newcomer, () => withNothing],
  ["with everything", () => owner, () => withEverything(belongings)],
  ["while the service fails", () => owner, () => whileItFails(belongings)],
])("every page %s → axe finds nothing in light and in dark, and 360 px are enough", async (state, who, stops) => {
  const { page, watch } = await visit({ session: who()?.session });
  const isFailing = state.includes("fails");
  if (isFailing) watch.allow(/Failed to load resource/);
  for (const go of stops()) {
    await go(page);
    // While parts of it are still being read, a page is not what people will see of it.
    if (!isFailing) await page.locator(".mantine-Skeleton-root").first().waitFor({ state: "detached" });
    await expectGoodLooks(page);
  }
});

test("an injected script, and an image and a call from elsewhere → blocked by the page's policy, and reported", async () => {
  const { page, watch } = await visit({ at: "/" });
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

/** Every request of a first visit until the page is quiet, and the bytes of its scripts as the server sent them. */
async function load(page: Page, path: string, title: string): Promise<{ asked: string[]; bytes: number }> {
  const asked: string[] = [];
  const scripts: Promise<number>[] = [];
  page.on("requestfinished", (request) => {
    const { pathname } = new URL(request.url());
    asked.push(pathname);
    if (pathname.endsWith(".js")) scripts.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
  });
  await page.goto(path);
  await untilHeading(page, title);
  await page.waitForLoadState("networkidle");
  const bytes = (await Promise.all(scripts)).reduce((sum, size) => sum + size, 0);
  return { asked, bytes };
}

test.each<[string, () => string, string, boolean]>([
  ["the sign-in page", () => "/", "Sign in", false],
  ["a project with its film", () => `/#/projects/${belongings.projectId}`, "Harbour", true],
  ["a film", () => `/#/films/${belongings.filmId}`, "The pier", true],
  ["an endpoint", () => `/#/webhooks/${belongings.webhookId}`, "The edit suite", true],
  ["the list of films", () => "/#/films", "The pier", true],
])(
  "%s → a first visit takes at most 25 requests and 255 kB of JavaScript, compressed by the server",
  async (_, path, title, isSignedIn) => {
    const { page } = await visit(isSignedIn ? { session: owner.session } : {});
    const { asked, bytes } = await load(page, path(), title);
    expect(asked.length, asked.join("\n")).toBeLessThanOrEqual(25);
    expect(bytes).toBeLessThanOrEqual(255_000);
    expect(bytes).toBeGreaterThan(50_000); // a page without scripts would have measured nothing
  },
);

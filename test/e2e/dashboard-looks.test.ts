import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openDatabase } from "../support/api/database.ts";
import { axeFindings, visitDashboard } from "../support/dashboard/browser.ts";
import { type Belongings, furnish, newPerson, type Person } from "../support/dashboard/person.ts";
import { answers } from "../support/receiver/habits.ts";
import { type FlowReceiver, startFlowReceiver } from "../support/receiver/receiver.ts";
import { until } from "../support/until.ts";

const visit = visitDashboard();
const sql = openDatabase();
let receiver: FlowReceiver;
let newcomer: Person;
let owner: Person;
let belongings: Belongings;

beforeAll(async () => {
  receiver = await startFlowReceiver(answers(500));
  [newcomer, owner] = await Promise.all([newPerson(), newPerson()]);
  belongings = await furnish(owner, receiver.url);
  await sql`
    insert into keyframe_private.owner_budgets (owner_id, day_micros, month_micros) values (${owner.session.user.id}, 1000000, 10000000)`;
});
afterAll(() => receiver?.close());

/** A place of the dashboard in one of its states, and how to get there, ending when it shows. */
type Stop = [name: string, go: (page: Page) => Promise<void>];

const heading = (page: Page, name: string) => page.getByRole("heading", { name, exact: true }).first().waitFor();

const at = (name: string, path: string, title: string): Stop => [
  name,
  async (page) => {
    await page.goto(`/#${path}`);
    await heading(page, title);
  },
];

async function press(page: Page, button: string | RegExp, shows: string): Promise<void> {
  await page.getByRole("button", { name: button }).first().click();
  await page.getByText(shows).first().waitFor();
}

async function closeAll(page: Page): Promise<void> {
  await until("every window is closed", async () => {
    await page.keyboard.press("Escape"); // closes one
    return (await page.locator("[role=dialog], [role=menu]").count()) === 0;
  });
}

/** What opens inside of the window, or on the page, that shows now. */
const inside = (name: string, button: string | RegExp, shows: string): Stop => [
  name,
  (page) => press(page, button, shows),
];

/** What opens on the page that shows now, when its menus and windows are closed. */
const opened = (name: string, button: string | RegExp, shows: string): Stop => [
  name,
  async (page) => {
    await closeAll(page);
    await press(page, button, shows);
  },
];

/** The pages of somebody who is not signed in. */
const signedOutTour: Stop[] = [
  at("sign-in", "/sign-in", "Sign in"),
  inside("sign-in, nothing filled in", /^Sign in$/, "Enter your password."),
  at("sign-up", "/sign-up", "Create an account"),
  at("password reset", "/reset-password", "Reset your password"),
  [
    "mail sent",
    async (page) => {
      await page.getByLabel("Email").fill("nobody@keyframe.local");
      await press(page, "Send reset link", "Check your email");
    },
  ],
];

/** The pages of somebody who has just signed up. */
const emptyTour: Stop[] = [
  at("no projects", "/projects", "No projects yet"),
  at("no films", "/films", "No films yet"),
  opened("new film", "New film", "Create film"),
  at("no endpoints", "/webhooks", "No endpoints yet"),
  at("no usage", "/usage", "This month $0.00"),
  at("new password", "/new-password", "Set a new password"),
];

/** Lets the search go on. */
let held = () => {};

/** The projects of somebody who has a film. */
const projectsTour: Stop[] = [
  at("projects", "/projects", "Harbour"),
  opened("you, this month's sum, and how it looks", "Account and theme", "This month $"),
  [
    "usage under a budget, by model",
    async (page) => {
      await closeAll(page);
      await page.goto("/#/usage");
      await page.getByRole("progressbar", { name: "Budget for today, used" }).waitFor();
      await page.getByRole("radiogroup", { name: "Sums by" }).getByText("Model").click();
      await page.getByText("google/nano-banana-2").waitFor();
    },
  ],
  at("projects again", "/projects", "Harbour"),
  opened("new project", "New project", "The scene to generate."),
  inside("new project, nothing filled in", "Create project", "The scene to generate."),
  [
    "no project found",
    async (page) => {
      await page.goto("/#/projects");
      await page.getByLabel("Search projects").fill("nowhere");
      await page.getByText("No project found").waitFor();
    },
  ],
  [
    "a search that goes on by itself",
    async (page) => {
      const { resolve: goOn, promise } = Promise.withResolvers<void>();
      held = goOn;
      // As answers among more projects than the database looks through at once.
      const none = { success: true, data: { projects: [], nextCursor: "more" }, error: null };
      await page.route("**/projects?*search=older*", async (route) => {
        if (route.request().url().includes("cursor=")) await promise;
        await route.fulfill({ json: none });
      });
      await page.getByLabel("Search projects").fill("older");
      await page.getByText("Searching older projects…").waitFor();
    },
  ],
  [
    "a search that goes on when told to",
    async (page) => {
      held();
      await page.getByRole("button", { name: "Search on" }).waitFor();
    },
  ],
];

function studioTour({ projectId, emptyProjectId, changeElsewhere }: Belongings): Stop[] {
  return [
    at("studio of a film", `/projects/${projectId}`, "Harbour"),
    opened("description", "Description", "Not sent to the model."),
    opened("history", "History of the first frame", "Use these inputs"),
    inside("a take, enlarged", /^Enlarge$/, "Used for the next video"),
    [
      "two takes, compared",
      async (page) => {
        await page.keyboard.press("Escape");
        await page.getByRole("dialog", { name: "First frame", exact: true }).waitFor({ state: "detached" });
        for (const button of await page.getByRole("button", { name: "Compare" }).all()) await button.click();
        await page.getByRole("dialog", { name: "Compare: First frame" }).getByRole("img").last().waitFor();
      },
    ],
    [
      "history again",
      async (page) => {
        await page.keyboard.press("Escape");
        await page.getByRole("dialog", { name: "Compare: First frame" }).waitFor({ state: "detached" });
        await page.getByRole("button", { name: "Compare" }).first().click();
        await page.getByText("Press Compare on the other take.").waitFor();
      },
    ],
    opened("history of the video", "History of the video", "Use these inputs"),
    inside("actions of a take", "More actions", "Hide"),
    [
      "deletion of a take",
      async (page) => {
        await page.getByRole("menuitem", { name: "Delete" }).click();
        await page.getByText("It and its file will be deleted.").waitFor();
      },
    ],
    [
      "settings of the video",
      async (page) => {
        await closeAll(page);
        await page.getByRole("article", { name: "Video" }).getByRole("button", { name: "Settings" }).click();
        await page.getByRole("button", { name: "Use an image" }).first().waitFor();
      },
    ],
    [
      "a frame is selected, a text is not saved, and the project changes elsewhere",
      async (page) => {
        await closeAll(page);
        await press(page, "History of the first frame", "Use these inputs");
        await page.getByRole("button", { name: "Use for the next video" }).click();
        await page.keyboard.press("Escape");
        await page.getByRole("button", { name: "Use the new one" }).waitFor();
        await page.getByText("Made with another first frame than the one selected.").first().waitFor();
        await page.getByLabel("Prompt", { exact: true }).fill("A harbour at noon");
        await page.getByText("Not saved").waitFor();
        await changeElsewhere();
        await press(page, /^Save$/, "Keep my text");
      },
    ],
    [
      "rename",
      async (page) => {
        await page.getByRole("button", { name: "Use the saved text" }).click();
        await page.getByRole("button", { name: "Actions for Harbour" }).click();
        await page.getByRole("menuitem", { name: "Rename" }).click();
        await page.getByLabel("Title").waitFor();
      },
    ],
    at("studio of nothing yet", `/projects/${emptyProjectId}`, "Nothing yet"),
  ];
}

function filmTour({ filmId }: Belongings): Stop[] {
  return [
    at("films", "/films", "The pier"),
    [
      "a film",
      async (page) => {
        await page.goto(`/#/films/${filmId}`);
        await page.getByRole("list", { name: "Shots" }).waitFor();
      },
    ],
    opened("actions of a film", "Actions for the film", "Rename"),
    [
      "download of a film",
      async (page) => {
        await page.getByRole("menuitem", { name: "Download" }).click();
        await page.getByRole("dialog").getByText("No video yet").waitFor();
      },
    ],
    [
      "deletion of a film",
      async (page) => {
        await closeAll(page);
        await press(page, "Actions for the film", "Rename");
        await page.getByRole("menuitem", { name: "Delete" }).click();
        await page.getByText("Keep film").waitFor();
      },
    ],
    opened("actions of a shot", "Actions for Harbour", "Film"),
    [
      "film of a shot",
      async (page) => {
        await page.getByRole("menuitem", { name: "Film" }).click();
        await page.getByText("becomes the last shot of the film").waitFor();
      },
    ],
  ];
}

function endpointTour({ webhookId }: Belongings): Stop[] {
  return [
    at("endpoints", "/webhooks", "The edit suite"),
    opened("new endpoint", "Add endpoint", "Selected events"),
    at("endpoint", `/webhooks/${webhookId}`, "The edit suite"),
    opened("a delivery", /generation\.succeeded/, "webhook-id"),
    opened("its secret", "Show secret", "whsec_"),
    opened("rotate", "Rotate…", "Overlap in hours"),
    opened("recover", "Recover…", "Recover"),
  ];
}

const docsTour: Stop[] = [
  at("docs", "/docs", "Service"),
  opened("an operation", /POST .*Generate the video/, "Copy with your token"),
  at("a guide", "/docs/webhooks", "Receive webhooks"),
  at("nothing here", "/nowhere", "Page not found"),
];

/** Pages whose data cannot be had: the service has a fault, or is not there. Not for pages that are signed out. */
function brokenTour({ projectId, filmId, webhookId }: Belongings): Stop[] {
  const API = "**/functions/v1/api/**";
  const failing = (name: string, path: string, shows: string): Stop => [
    `${name}, broken`,
    async (page) => {
      const error = { code: "internal", message: "Something went wrong on our side.", requestId: "r", details: [] };
      await page.route(API, (route) => route.fulfill({ status: 500, json: { success: false, data: null, error } }));
      await page.goto(`/#${path}`);
      await page.reload(); // nothing is remembered
      await page.getByText(shows).first().waitFor();
    },
  ];
  return [
    failing("projects", "/projects", "Could not load projects"),
    failing("studio", `/projects/${projectId}`, "Could not load the project"),
    failing("film", `/films/${filmId}`, "Could not load the film"),
    failing("endpoint", `/webhooks/${webhookId}`, "Could not load the endpoint"),
    [
      "projects while the service is away",
      async (page) => {
        await page.unroute(API);
        await page.route(API, (route) => route.abort());
        await page.goto("/#/projects");
        await page.reload();
        await page.getByText("Cannot reach the service.").waitFor();
      },
    ],
  ];
}

type Tour = { who: Person | null; stops: Stop[]; isWhole: boolean };
const TOURS: Record<string, () => Tour> = {
  "signed out": () => ({ who: null, stops: signedOutTour, isWhole: true }),
  "with nothing yet": () => ({ who: newcomer, stops: emptyTour, isWhole: true }),
  "of the projects": () => ({ who: owner, stops: projectsTour, isWhole: true }),
  "of the studio": () => ({ who: owner, stops: studioTour(belongings), isWhole: true }),
  "of films": () => ({ who: owner, stops: filmTour(belongings), isWhole: true }),
  "of an endpoint": () => ({ who: owner, stops: endpointTour(belongings), isWhole: true }),
  "of the docs": () => ({ who: owner, stops: docsTour, isWhole: true }),
  "while the service fails": () => ({ who: owner, stops: brokenTour(belongings), isWhole: false }),
};

const DESK = { width: 1280, height: 800 };
const PHONE = { width: 360, height: 780 };

async function untilNothingFades(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const frame = () => new Promise(requestAnimationFrame);
    const isFading = () => document.getAnimations().some((one) => one instanceof CSSTransition);
    do await frame();
    while (isFading());
  });
}

async function switchTo(page: Page, colorScheme: "light" | "dark"): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor({ state: "attached" });
  await untilNothingFades(page);
}

/** Labels of buttons that have no room. Some texts are cut on purpose. */
const cutLabels = (page: Page): Promise<string[]> =>
  page.$$eval("button *:not([data-truncate])", (parts) =>
    parts
      .filter((part) => part.clientWidth > 0 && part.scrollWidth > part.clientWidth + 1)
      .map((part) => `cut off on a phone: ${part.textContent}`),
  );

/**
 * Of a page as it stands: what axe finds in one scheme, what of it is contrast in the other, where the page is left, and whether a phone
 * has to scroll sideways or cuts labels off.
 */
async function findings(page: Page): Promise<string[]> {
  const isDark = await page.evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches);
  await untilNothingFades(page);
  const found = await axeFindings(page);
  await switchTo(page, isDark ? "light" : "dark");
  found.push(...(await axeFindings(page, ["color-contrast"])).map((finding) => `in the other scheme, ${finding}`));
  await page.setViewportSize(PHONE);
  // An open menu follows the window in one of the next frames.
  const fits = (most: number) => document.documentElement.scrollWidth <= most;
  await page.waitForFunction(fits, PHONE.width, { timeout: 2_000 }).catch(() => undefined);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  if (width > PHONE.width) found.push(`${width} px wide in a window of ${PHONE.width} px`);
  found.push(...(await cutLabels(page)));
  await page.setViewportSize(DESK);
  return found;
}

test.each(Object.entries(TOURS))(
  "every page %s → axe finds nothing in light and in dark, and 360 px are wide enough for all labels",
  async (_state, tour) => {
    const { who, stops, isWhole } = tour();
    const found: string[] = [];
    const { page, watch } = await visit(who === null ? {} : { session: who.session });
    watch.allow(isWhole ? /status of 412/ : /Failed to load resource/);
    for (const [name, go] of stops) {
      await go(page);
      // While parts of it are still being read, a page is not what people will see of it.
      if (isWhole) await page.locator(".mantine-Skeleton-root").first().waitFor({ state: "detached" });
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
  expect(await pages.getByRole("link").allTextContents()).toEqual(["Projects", "Films", "Webhooks", "Usage", "Docs"]);
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
  await page.getByRole("heading", { name: title }).first().waitFor();
  await page.waitForLoadState("networkidle");
  const bytes = (await Promise.all(scripts)).reduce((sum, size) => sum + size, 0);
  return { asked, bytes };
}

test.each<[string, () => string, string, boolean]>([
  ["the sign-in page", () => "/", "Sign in", false],
  ["a project with its film", () => `/#/projects/${belongings.projectId}`, "Harbour", true],
  ["a film", () => `/#/films/${belongings.filmId}`, "The pier", true],
  ["an endpoint", () => `/#/webhooks/${belongings.webhookId}`, "The edit suite", true],
  ["an operation of the API reference", () => "/#/docs?operation=startVideo", "Answers", true],
])(
  "%s → a first visit takes at most 25 requests and 250 kB of JavaScript, compressed by the server",
  async (_, path, title, isSignedIn) => {
    const { page } = await visit(isSignedIn ? { session: owner.session } : {});
    const { asked, bytes } = await load(page, path(), title);
    expect(asked.length, asked.join("\n")).toBeLessThanOrEqual(25);
    expect(bytes).toBeLessThanOrEqual(250_000);
    expect(bytes).toBeGreaterThan(50_000); // a page without scripts would have measured nothing
  },
);

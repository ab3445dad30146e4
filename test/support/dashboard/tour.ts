import type { Page } from "playwright-core";
import type { Person } from "./person.ts";

/** A place of the dashboard in one of its states: how to get there, ending when it shows. */
export type Stop = { name: string; go(page: Page): Promise<void> };

/** What somebody has whose pages are looked at. */
export type Belongings = {
  projectId: string;
  emptyProjectId: string;
  webhookId: string;
  /** Saves another prompt, as another tab does. */
  changeElsewhere: () => Promise<unknown>;
};

const heading = (page: Page, name: string) => page.getByRole("heading", { name, exact: true }).first().waitFor();

const at = (name: string, path: string, title: string): Stop => ({
  name,
  async go(page) {
    await page.goto(`/#${path}`);
    await heading(page, title);
  },
});

/** What opens inside of the window, or on the page, that shows now. */
const inside = (name: string, button: string | RegExp, shows: string): Stop => ({
  name,
  async go(page) {
    await page.getByRole("button", { name: button }).first().click();
    await page.getByText(shows).first().waitFor();
  },
});

/** What opens on the page that shows now, when its menus and windows are closed. */
const opened = (name: string, button: string | RegExp, shows: string): Stop => ({
  name,
  async go(page) {
    await page.keyboard.press("Escape");
    await page.locator("[role=dialog], [role=menu]").first().waitFor({ state: "detached" });
    await inside(name, button, shows).go(page);
  },
});

/** As long as parts of it are still being read, a page is not what people will see of it. */
export async function untilRead(page: Page): Promise<void> {
  await page.locator(".mantine-Skeleton-root").first().waitFor({ state: "detached" });
}

/** The pages of somebody who is not signed in. */
export const signedOutTour: Stop[] = [
  at("sign-in", "/sign-in", "Sign in"),
  {
    name: "sign-in, nothing filled in",
    async go(page) {
      await page.getByRole("button", { name: "Sign in", exact: true }).click();
      await page.getByText("Enter your password.").waitFor();
    },
  },
  at("sign-up", "/sign-up", "Create an account"),
  at("password reset", "/reset-password", "Reset your password"),
  {
    name: "mail sent",
    async go(page) {
      await page.getByLabel("Email").fill("nobody@keyframe.local");
      await page.getByRole("button", { name: "Send reset link" }).click();
      await heading(page, "Check your email");
    },
  },
];

/** The pages of somebody who has just signed up. */
export const emptyTour: Stop[] = [
  at("no projects", "/projects", "No projects yet"),
  at("no endpoints", "/webhooks", "No endpoints yet"),
  at("new password", "/new-password", "Set a new password"),
];

/** The pages of somebody who has a film and an endpoint. */
export function fullTour({ projectId, emptyProjectId, webhookId, changeElsewhere }: Belongings): Stop[] {
  return [
    at("projects", "/projects", "Harbour"),
    opened("you, and how it looks", "Account and theme", "Sign out"),
    opened("new project", "New project", "The scene to generate."),
    inside("new project, nothing filled in", "Create project", "The scene to generate."),
    at("studio of a film", `/projects/${projectId}`, "Harbour"),
    opened("description", "Description", "Notes for yourself."),
    opened("history", "History of the first frame", "Use these inputs"),
    opened("history of the video", "History of the video", "Use these inputs"),
    {
      name: "a frame is selected, a text is not saved, and the project changes elsewhere",
      async go(page) {
        await page.keyboard.press("Escape");
        await page.locator("[role=dialog]").first().waitFor({ state: "detached" });
        await page.getByRole("button", { name: "History of the first frame" }).click();
        await page
          .getByRole("button", { name: /next video$/ })
          .first()
          .click();
        await page.getByRole("button", { name: "Selected for next video" }).waitFor();
        await page.keyboard.press("Escape");
        await page.getByText("Selected for the next video").waitFor();
        await page.getByLabel("Prompt", { exact: true }).fill("A harbour at noon");
        await page.getByText("Not saved").waitFor();
        await changeElsewhere();
        await page.getByRole("button", { name: "Save", exact: true }).click();
        await page.getByText("Keep my text").waitFor();
      },
    },
    {
      name: "rename",
      async go(page) {
        await page.getByRole("button", { name: "Use the saved text" }).click();
        await page.getByRole("button", { name: "Actions for Harbour" }).click();
        await page.getByRole("menuitem", { name: "Rename" }).click();
        await page.getByLabel("Title").waitFor();
      },
    },
    {
      name: "no project found",
      async go(page) {
        await page.goto("/#/projects");
        await page.getByLabel("Search projects").fill("nowhere");
        await page.getByText("No project found").waitFor();
      },
    },
    at("studio of nothing yet", `/projects/${emptyProjectId}`, "Nothing yet"),
    at("endpoints", "/webhooks", "The edit suite"),
    opened("new endpoint", "Add endpoint", "Selected events"),
    at("endpoint", `/webhooks/${webhookId}`, "The edit suite"),
    opened("a delivery", /generation\.succeeded/, "webhook-id"),
    opened("its secret", "Show secret", "whsec_"),
    opened("rotate", "Rotate…", "Overlap in hours"),
    opened("recover", "Recover…", "Recover"),
    {
      name: "docs",
      async go(page) {
        await page.goto("/#/docs");
        await page.locator(".opblock").last().waitFor();
        await page.locator(".authorize.locked").first().waitFor();
      },
    },
    at("nothing here", "/nowhere", "Page not found"),
  ];
}

/** Pages whose data cannot be had: the service has a fault, or is not there. Not for pages that are signed out. */
export function brokenTour({ projectId, webhookId }: Belongings): Stop[] {
  const failing = (name: string, path: string, shows: string): Stop => ({
    name: `${name}, broken`,
    async go(page) {
      await page.goto(`/#${path}`);
      await page.reload(); // nothing is remembered
      await page.getByText(shows).first().waitFor();
    },
  });
  return [
    {
      ...failing("projects", "/projects", "Could not load projects"),
      async go(page) {
        const error = { code: "internal", message: "Something went wrong on our side.", requestId: "r", details: [] };
        await page.route("**/functions/v1/api/**", (route) =>
          route.fulfill({ status: 500, json: { success: false, data: null, error } }),
        );
        await page.goto("/#/projects");
        await page.getByText("Could not load projects").waitFor();
      },
    },
    failing("studio", `/projects/${projectId}`, "Could not load the project"),
    failing("endpoint", `/webhooks/${webhookId}`, "Could not load the endpoint"),
    {
      name: "projects while the service is away",
      async go(page) {
        await page.unroute("**/functions/v1/api/**");
        await page.route("**/functions/v1/api/**", (route) => route.abort());
        await page.goto("/#/projects");
        await page.reload();
        await page.getByText("Cannot reach the service.").waitFor();
      },
    },
  ];
}

/** Gives somebody a film of three steps, a project without any, and an endpoint with a delivery that failed. */
export async function furnish({ keyframe }: Person, receiverUrl: string): Promise<Belongings> {
  const webhook = await keyframe.webhooks.create({ url: receiverUrl, description: "The edit suite", eventTypes: [] });
  const texts = { textPrompt: "A harbour at dawn, fog, one red boat", description: "Calm" };
  const { projectId } = await keyframe.createProject({ title: "Harbour", ...texts });
  const empty = await keyframe.createProject({ title: "Nothing yet", ...texts });
  for (const step of ["first-frame", "last-frame", "video"] as const) {
    await keyframe.waitFor(await keyframe.generate(step, { projectId }));
  }
  const changeElsewhere = () => keyframe.changeProject(projectId, { textPrompt: `A harbour, ${crypto.randomUUID()}` });
  return { projectId, emptyProjectId: empty.projectId, webhookId: webhook.webhookId, changeElsewhere };
}

import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { visitDashboard } from "../support/dashboard/browser.ts";
import { newPerson, type Person } from "../support/dashboard/person.ts";
import { type Belongings, furnish } from "../support/dashboard/tour.ts";
import { type FlowReceiver, startFlowReceiver } from "../support/receiver/receiver.ts";
import { answers } from "../support/receiver/habits.ts";

const visit = visitDashboard();
const MAX_REQUESTS = 25;
const MAX_BYTES = 250_000;

let receiver: FlowReceiver;
let owner: Person;
let belongings: Belongings;
beforeAll(async () => {
  receiver = await startFlowReceiver(answers(204));
  owner = await newPerson();
  belongings = await furnish(owner, receiver.url);
});
afterAll(() => receiver?.close());

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
  console.info(`${title}: ${asked.length} requests, ${Math.round(bytes / 1000)} kB of JavaScript`);
  return { asked, bytes };
}

test.each<[string, () => string, string, boolean]>([
  ["the sign-in page", () => "/", "Sign in", false],
  ["the projects", () => "/#/projects", "Harbour", true],
  ["a project with its film", () => `/#/projects/${belongings.projectId}`, "Harbour", true],
  ["the endpoints", () => "/#/webhooks", "The edit suite", true],
  ["an endpoint", () => `/#/webhooks/${belongings.webhookId}`, "The edit suite", true],
])(
  "%s → at most 25 requests and 250 kB of JavaScript, compressed by the server",
  async (_, path, title, isSignedIn) => {
    const { page } = await visit(isSignedIn ? { session: owner.session } : {});
    const { asked, bytes } = await load(page, path(), title);
    expect(asked.length, asked.join("\n")).toBeLessThanOrEqual(MAX_REQUESTS);
    expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
    expect(bytes).toBeGreaterThan(50_000); // a page without scripts would have measured nothing
  },
);

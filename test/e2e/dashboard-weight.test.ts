import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { visitDashboard } from "../support/dashboard-browser.ts";
import { newPerson } from "../support/dashboard-person.ts";

const visit = visitDashboard();
const LIMIT_BYTES = 250_000;

/** What a browser loads before anybody does anything: the names of the scripts, and their size as a host sends them. */
async function load(page: Page, path: string, title: string): Promise<{ names: string[]; bytes: number }> {
  const scripts: { name: string; body: Promise<Uint8Array> }[] = [];
  page.on("response", (response) => {
    const name = new URL(response.url()).pathname;
    if (name.endsWith(".js")) scripts.push({ name, body: response.body() });
  });
  await page.goto(path);
  await page.getByRole("heading", { name: title }).waitFor();
  await page.waitForLoadState("networkidle");
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  const bodies = await Promise.all(scripts.map(({ body }) => body));
  const bytes = bodies.reduce((sum, body) => sum + gzipSync(body).length, 0);
  console.info(
    `${title}: ${Math.round(bytes / 1000)} kB of JavaScript, first paint after ${Math.round(paint ?? 0)} ms`,
  );
  return { names: scripts.map(({ name }) => name), bytes };
}

test.each([
  ["the sign-in page", "/", "Sign in", false],
  ["the projects", "/#/projects", "No projects yet", true],
])("%s → at most 250 kB of JavaScript, none of it of other pages", async (_, path, title, isSignedIn) => {
  const { page } = await visit(isSignedIn ? { session: (await newPerson()).session } : {});
  const { names, bytes } = await load(page, path, title);
  expect(bytes).toBeLessThanOrEqual(LIMIT_BYTES);
  expect(bytes).toBeGreaterThan(50_000); // a page without scripts would have measured nothing
  const others = ["StudioPage", "WebhooksPage", "WebhookPage", "DocsPage", "HourChart", "ReferenceDropzone"];
  for (const other of others) expect(names.join(" ")).not.toContain(other);
});

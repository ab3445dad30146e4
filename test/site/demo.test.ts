import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { checkBackend } from "../../site/check-backend.ts";
import type { Recording } from "../../site/demo/recording.ts";
import { stepCard } from "../support/dashboard/film.ts";
import { expectReadable, SITE, visitSite } from "../support/site/visit-site.ts";

const visit = visitSite();
const PAGES = ["Projects", "Films", "Elements", "Webhooks", "Keys", "Usage"];
const openProject = async (page: Page, title: string) => {
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Projects" }).click();
  await page.getByRole("link", { name: title }).first().click();
  await stepCard(page, "Video").waitFor();
};

for (const size of ["phone", "desk"] as const)
  for (const scheme of ["light", "dark"] as const)
    test(`every page of the demo on a ${size}, ${scheme} → says that it is simulated, axe finds nothing, no other host is asked`, async () => {
      const page = await visit("demo/", size, scheme);
      for (const name of PAGES) {
        if (size === "phone") await page.getByRole("button", { name: "Open navigation" }).click();
        await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true }).click();
        await page.getByRole("heading", { level: 1, name }).waitFor();
        await page.waitForLoadState("networkidle");
        await page.getByText("Simulated: a recorded film").waitFor();
        await expectReadable(page);
      }
    });

test("a film of the demo → plays its shots, shows their costs, and its webhooks have a failed attempt", async () => {
  const page = await visit("demo/#/films");
  await page.getByRole("link", { name: "Lighthouse" }).first().click();
  await page.getByText("Lighthouse at noon").first().waitFor();
  const video = page.locator("video").first();
  await video.waitFor();
  expect(
    await video.evaluate(
      (one: HTMLVideoElement) =>
        new Promise((resolve) => {
          if (one.readyState > 0) resolve(one.duration);
          one.onloadedmetadata = () => resolve(one.duration);
          one.load();
        }),
    ),
  ).toBeGreaterThan(1);
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Usage" }).click();
  await page.getByText(/\$\d/).first().waitFor();
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Webhooks" }).click();
  await page
    .getByRole("link", { name: /Edit suite|127\.0\.0\.1/ })
    .first()
    .click();
  await page.getByRole("button", { name: /2 attempts/ }).click();
  await page.getByText(/503/).first().waitFor();
});

test("Generate in the demo → a first frame runs with progress and ends; then a video is made from it", async () => {
  const page = await visit("demo/");
  await openProject(page, "Lighthouse at noon");
  for (const name of ["First frame", "Video"] as const) {
    const card = stepCard(page, name);
    await card.getByRole("button", { name: /^Generate:/ }).click();
    await card.getByRole("progressbar").first().waitFor();
    await card.getByText("Done").waitFor();
  }
  await page.reload();
  await stepCard(page, "Video").waitFor();
  expect(await stepCard(page, "Video").getByText("Done").count()).toBe(0); // nothing is kept
});

test("a refused prompt in the demo → fails with the provider's reason", async () => {
  const page = await visit("demo/");
  await openProject(page, "A prompt that is refused");
  const card = stepCard(page, "First frame");
  await card.getByRole("button", { name: /^Generate:/ }).click();
  await card
    .getByText(/safety filter|rejected/i)
    .first()
    .waitFor();
});

test("an answer in the demo's recording that breaks the contract → the build fails", async () => {
  const recording = JSON.parse(await readFile(join(SITE, "demo", "recording.json"), "utf8")) as Recording;
  expect(() => checkBackend(recording)).not.toThrow();
  const [first, ...others] = recording.runs.video;
  const broken = { ...first?.prediction, status: "made" };
  const runs = { ...recording.runs, video: [{ afterMs: 0, prediction: broken as never }, ...others] };
  expect(() => checkBackend({ ...recording, runs })).toThrow(/status/);
});

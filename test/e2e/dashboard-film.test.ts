import { expect, test } from "vitest";
import { visitDashboard } from "../support/dashboard-browser.ts";
import { photoFile, runStep, stepCard } from "../support/dashboard-film.ts";
import { tabTo } from "../support/dashboard-keyboard.ts";
import { newPerson } from "../support/dashboard-person.ts";
import { fillCredentials } from "../support/dashboard-sign-in.ts";
import { until } from "../support/until.ts";

const visit = visitDashboard();

test("sign up, project, reference image, three steps → the video plays; another person sees none of it", async () => {
  const { page } = await visit();
  await page.goto("/#/sign-up");
  const email = `film-${crypto.randomUUID()}@keyframe.local`;
  await fillCredentials(page, { email, password: "a long enough password" }, "Create account");

  await page.getByRole("button", { name: "New project" }).click();
  const form = page.getByRole("dialog", { name: "New project" });
  await form.getByLabel("Title").fill("Harbour");
  await form.getByLabel("Prompt").fill("A harbour at dawn, fog, one red boat");
  await form.getByRole("button", { name: "Create project" }).click();
  await page.getByRole("heading", { level: 1, name: "Harbour" }).waitFor();

  const video = stepCard(page, "Video");
  await video.getByText("It starts from a first frame. Generate that one first.").waitFor();
  await page.locator("input[type=file]").setInputFiles(photoFile(email));
  await page.getByRole("button", { name: "Replace" }).waitFor();

  await runStep(page, "First frame");
  await runStep(page, "Last frame");
  await runStep(page, "Video");
  const player = video.locator("video");
  await player.evaluate(async (element: HTMLVideoElement) => {
    element.muted = true;
    await element.play();
  });
  const time = () => player.evaluate((element: HTMLVideoElement) => element.currentTime);
  const started = await time();
  await until("the video plays", async () => (await time()) > started + 0.1);

  const downloading = page.waitForEvent("download");
  await video.getByRole("button", { name: "Download the video" }).click();
  expect((await downloading).suggestedFilename()).toMatch(/\.mp4$/);

  await page.getByRole("link", { name: "Projects", exact: true }).first().click();
  const card = page.getByRole("article").filter({ hasText: "Harbour" });
  await until("the card shows its frame", () =>
    card
      .locator("img")
      .first()
      .evaluate((image: HTMLImageElement) => image.naturalWidth > 0),
  );
  await card.getByRole("link", { name: "Harbour" }).click();
  await page.getByRole("heading", { level: 1, name: "Harbour" }).waitFor();

  const address = page.url();
  const { session } = await newPerson();
  const { page: other, watch } = await visit({ session });
  watch.allow(/status of 404/);
  await other.goto(address);
  await other.getByRole("heading", { name: "There is no such project" }).waitFor();
  await other.getByRole("link", { name: "To the projects", exact: true }).click();
  await other.getByRole("heading", { name: "Your first film starts with a sentence" }).waitFor();
});

test("keyboard alone → signed in, and a project made", async () => {
  const person = await newPerson();
  const { page } = await visit();
  await page.goto("/");
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await tabTo(page, "Email address");
  await page.keyboard.type(person.email);
  await tabTo(page, "Password");
  await page.keyboard.type(person.password);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Your first film starts with a sentence" }).waitFor();
  await tabTo(page, "New project");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "New project" }).getByLabel("Title").waitFor();
  await until("the title has the focus", () =>
    page.getByLabel("Title").evaluate((field) => field === document.activeElement),
  );
  await page.keyboard.type("By keyboard");
  await tabTo(page, "Prompt");
  await page.keyboard.type("A harbour at dawn");
  await tabTo(page, "Create project");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "By keyboard" }).waitFor();
});

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { expectGoodLooks, visitDashboard } from "../support/dashboard/browser.ts";
import { photoFile, stepCard } from "../support/dashboard/film.ts";
import { newPerson } from "../support/dashboard/person.ts";
import { until } from "../support/until.ts";

const visit = visitDashboard();

async function filmOf(...titles: string[]) {
  const person = await newPerson();
  const { keyframe } = person;
  const { filmId } = await keyframe.films.create({ title: "The pier" });
  const ids: string[] = [];
  for (const title of titles) ids.push((await keyframe.createProject({ title, textPrompt: title, filmId })).projectId);
  const saved = async () => (await keyframe.films.read(filmId)).shots.map(({ title }) => title);
  return { ...person, filmId, ids, saved };
}

/** The page that the menu marks. */
const marked = (page: Page) => page.locator("header nav [aria-current=page]").allTextContents();
const shown = (page: Page) => page.getByRole("list", { name: "Shots" }).getByRole("link").allTextContents();

async function deleteShot(page: Page, title: string): Promise<void> {
  await page.getByRole("button", { name: `Actions for ${title}` }).press("Enter");
  await page.getByRole("menuitem", { name: "Delete" }).press("Enter");
  await page.getByRole("dialog", { name: "Delete project?" }).getByText("You can undo it for ten seconds.").waitFor();
  await page.getByRole("button", { name: "Delete project" }).press("Enter");
  await page.getByRole("alert").getByText(`“${title}” is deleted.`).waitFor();
}

test("a shot of a film → its place, the ones beside it and the way back; deleted, back to the film; created, still there", async () => {
  const { session, filmId, ids, saved, keyframe } = await filmOf("Day", "Noon", "Night");
  const { page, watch } = await visit({ session });
  watch.allow(/status of 404/); // the deleted shot
  await page.clock.install();
  await page.goto(`/#/projects/${ids[0]}`);
  const shots = page.getByRole("navigation", { name: "Shots" });
  await shots.getByText("Shot 1 of 3").waitFor();
  expect(await marked(page)).toEqual(["Films"]);
  expect(await shots.getByRole("link", { name: "Previous shot" }).count()).toBe(0);
  await shots.getByRole("link", { name: "Next shot: Noon" }).press("Enter");
  await page.getByRole("heading", { level: 1, name: "Noon" }).waitFor();
  await shots.getByText("Shot 2 of 3").waitFor();
  await expectGoodLooks(page);
  await shots.getByRole("link", { name: "Previous shot: Day" }).waitFor();
  await deleteShot(page, "Noon");
  await page.getByRole("heading", { level: 1, name: "The pier" }).waitFor();
  await until("it is gone", async () => (await shown(page)).join() === "Day,Night");

  await page.getByRole("button", { name: "New shot" }).click();
  await page.getByLabel("Title").fill("Dusk");
  await page.getByLabel("Prompt").fill("Dusk");
  await page.getByRole("button", { name: "Create shot" }).click();
  await page.getByText("“Dusk” is the last shot.").waitFor();
  await until("it is there", async () => (await shown(page)).join() === "Day,Night,Dusk");
  await page.getByRole("heading", { level: 1, name: "The pier" }).waitFor();
  await page.getByRole("button", { name: "Move Dusk up" }).press("Enter");
  await page.getByRole("status").getByText("Dusk is shot 2 of 3.").waitFor({ state: "attached" });

  await page.clock.fastForward(10_000);
  await until("it is deleted after ten seconds", async () => (await saved()).join() === "Day,Dusk,Night");
  await page.getByText("“Noon” is deleted.").waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Projects", exact: true }).first().click();
  const card = page.getByRole("article").filter({ hasText: "Dusk" });
  await card.waitFor();
  expect(await marked(page)).toEqual(["Projects"]);
  await card.getByRole("link", { name: "The pier" }).click();
  await page.getByRole("heading", { level: 1, name: "The pier" }).waitFor();
  expect((await keyframe.listProjects()).projects.map((one) => one.filmId)).toEqual([filmId, filmId, filmId]);
});

test("a shot is deleted → undone, it is where it was; the page is left, it is deleted; refused, it comes back", async () => {
  const { session, filmId, saved } = await filmOf("Day", "Noon", "Night");
  const { page, watch } = await visit({ session });
  await page.goto(`/#/films/${filmId}`);
  await deleteShot(page, "Noon");
  await until("it is hidden", async () => (await shown(page)).join() === "Day,Night");
  await expectGoodLooks(page);
  await page.getByRole("button", { name: "Move Night up" }).press("Enter");
  await page.getByRole("status").getByText("Night is shot 1 of 2.").waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Undo: delete Noon" }).press("Enter");
  await until("it is shown again", async () => (await shown(page)).join() === "Night,Noon,Day");
  expect(await saved()).toEqual(["Night", "Noon", "Day"]);

  await deleteShot(page, "Noon");
  await page.keyboard.press("Control+z");
  await until("it is back by keys", async () => (await shown(page)).join() === "Night,Noon,Day");
  await deleteShot(page, "Noon");
  expect(await saved()).toEqual(["Night", "Noon", "Day"]);
  await page.goto("about:blank");
  await until("it is deleted", async () => (await saved()).join() === "Night,Day", 5_000);

  await page.clock.install();
  await page.goto(`/#/films/${filmId}`);
  await page.route("**/api/projects/*", (route) =>
    route.request().method() === "DELETE" ? route.fulfill({ status: 500, body: "" }) : route.fallback(),
  );
  watch.allow(/status of 500/);
  await deleteShot(page, "Day");
  await page.clock.fastForward(10_000);
  await page.getByText("Could not delete “Day”").waitFor();
  await until("it is back", async () => (await shown(page)).join() === "Night,Day");
});

test("a shot is duplicated → its texts, ratio, image and settings, behind it; no takes", async () => {
  const { session, filmId, ids, saved, keyframe } = await filmOf("Day", "Night");
  const [projectId = ""] = ids;
  const { referenceImagePath } = await keyframe.uploadReferenceImage(photoFile("a").buffer);
  await keyframe.changeProject(projectId, { aspectRatio: "9:16", referenceImagePath, elementIds: [] });
  await keyframe.waitFor(await keyframe.generate("first-frame", { projectId }));
  const { page } = await visit({ session });
  await page.goto(`/#/projects/${projectId}`);
  const card = stepCard(page, "First frame");
  await card.getByRole("button", { name: "Settings" }).click();
  await card.getByRole("radiogroup", { name: "Resolution" }).getByText("2K").click();
  await page.getByRole("button", { name: "Actions for Day" }).click();
  await page.getByRole("menuitem", { name: "Duplicate" }).click();
  await page.getByRole("heading", { level: 1, name: "Day (copy)" }).waitFor();
  await card.getByText(/· 2K/).waitFor();
  await card.getByText("Not generated yet").waitFor();
  expect(await saved()).toEqual(["Day", "Day (copy)", "Night"]);
  expect((await keyframe.films.read(filmId)).shots[1]).toMatchObject({
    ...{ textPrompt: "Day", aspectRatio: "9:16", referenceImagePath, elementIds: [] },
  });
  await page.goto(`/#/films/${filmId}`);
  await page.getByRole("button", { name: "Actions for Night" }).click();
  await page.getByRole("menuitem", { name: "Duplicate" }).click();
  await page.getByText("“Night (copy)” was created.").waitFor();
  await page.getByRole("link", { name: "Night (copy)" }).waitFor();
});

import { expect, inject, onTestFinished, test } from "vitest";
import { keptSession, launchBrowser } from "../../tools/demo/browser.ts";
import { openDatabase } from "../support/api/database.ts";
import { expectGoodLooks, visitDashboard } from "../support/dashboard/browser.ts";
import { choose, hold, openNewProject, startStuckBy } from "../support/dashboard/film.ts";
import { newPerson } from "../support/dashboard/person.ts";
import { until } from "../support/until.ts";

const visit = visitDashboard();

test("a search among more projects than one answer covers → continues by itself; among very many → on request", async () => {
  const person = await newPerson();
  await person.keyframe.projects.create({ title: "Lighthouse", textPrompt: "A lighthouse" });
  await openDatabase().begin(async (seeding) => {
    await seeding`set local session_replication_role = replica`;
    await seeding`
      insert into keyframe.projects (owner_id, title, text_prompt, created_at)
      select ${person.session.user.id}, case i when 8000 then 'Buoy' else 'Harbour' end, 'p', now() + i * interval '1 millisecond'
      from generate_series(1, 20000) i`;
  });
  const { page } = await visit({ session: person.session, at: "/#/projects" });
  const search = page.getByLabel("Search projects");
  await search.fill("buoy");
  await page.getByRole("link", { name: "Buoy", exact: true }).waitFor();
  await search.fill("lighthouse");
  await page.getByText("No title of your newest projects contains “lighthouse”.").waitFor();
  await expectGoodLooks(page);
  await page.getByRole("button", { name: "Keep searching" }).click();
  await page.getByRole("link", { name: "Lighthouse", exact: true }).waitFor();
  expect(await page.getByText("No project found").count()).toBe(0);
});

test("30 projects → searched by title, still after going back; renamed from the card's menu", async () => {
  const person = await newPerson();
  await openDatabase()`
    insert into keyframe.projects (owner_id, title, text_prompt, created_at)
    select ${person.session.user.id}, 'Shot ' || i, 'A harbour', now() + i * interval '1 millisecond' from generate_series(1, 30) i`;
  const { page } = await visit({ session: person.session, at: "/#/projects" });
  const card = (title: string) =>
    page.getByRole("article").filter({ has: page.getByRole("link", { name: title, exact: true }) });
  await card("Shot 30").waitFor();
  expect(await card("Shot 1").count()).toBe(0);
  const search = page.getByLabel("Search projects");
  await search.fill("shot 1");
  await card("Shot 1").waitFor();
  expect(await page.getByRole("article").count()).toBe(11);

  const rename = async (from: string, to: string) => {
    await choose(page, `Actions for ${from}`, "Rename");
    await page.getByLabel("Title", { exact: true }).fill(to);
    await expectGoodLooks(page);
    await page.getByRole("button", { name: "Rename", exact: true }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };
  await rename("Shot 1", "Opening shot 1");
  await card("Opening shot 1").getByRole("link").click();
  await page.getByRole("heading", { level: 1, name: "Opening shot 1" }).waitFor();
  await page.goBack();
  await card("Opening shot 1").waitFor();
  expect([await search.inputValue(), await page.getByRole("article").count()]).toEqual(["shot 1", 11]);
  await page.getByRole("link", { name: "Projects", exact: true }).first().click();
  await search.fill("nowhere");
  await page.getByText("No title contains “nowhere”.").waitFor();
  await expectGoodLooks(page);
  const { asked, release } = await hold(page, "**/projects?*search=Shot*");
  await search.fill("Shot");
  await asked;
  expect(await page.getByText("No project found").count()).toBe(0); // nobody knows yet
  release();
  await card("Shot 30").waitFor();
});

test("a project with a running prediction is deleted → “Cancel and delete” does both", async () => {
  const { person, projectId, page, watch } = await openNewProject(visit);
  watch.allow(/status of 404/); // the prediction may be read once more after it is gone
  await startStuckBy(person, "first-frame", projectId);
  await choose(page, "Actions for Harbour", "Delete");
  const dialog = page.getByRole("dialog", { name: "Delete project?" });
  await dialog.getByText("A step is still running").waitFor();
  await dialog.getByText("It will be canceled. The provider may charge for what it has done so far.").waitFor();
  await dialog.getByRole("button", { name: "Cancel and delete" }).click();
  await page.getByRole("heading", { name: "No projects yet" }).waitFor();
  await page.goto("about:blank"); // it is deleted then
  await until("it is deleted", async () => (await person.keyframe.projects.list()).projects.length === 0);
});

test("a window opens on a page with a scroll bar → the page behind it stays where it is", async () => {
  const { url } = inject("stack");
  const { keyframe, session } = await newPerson();
  await keyframe.projects.create({ title: "Lighthouse", textPrompt: "A lighthouse" });
  const browser = await launchBrowser({ ignoreDefaultArgs: ["--hide-scrollbars"] });
  onTestFinished(() => browser.close());
  const page = await browser.newPage({
    viewport: { width: 1280, height: 300 },
    baseURL: url,
    storageState: keptSession(url, session),
  });
  await page.goto("/#/projects");
  await page.getByRole("link", { name: "Lighthouse", exact: true }).waitFor();
  const look = () =>
    page.evaluate(() => [document.documentElement.clientWidth, document.querySelector("h1")?.offsetLeft]);
  const before = await look();
  expect(before[0]).toBeLessThan(1280);
  await page.getByRole("button", { name: "New project" }).click();
  await page.getByLabel("Title").fill("Harbour");
  expect(await look()).toEqual(before);
});

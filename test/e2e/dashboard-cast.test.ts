import { expect, test } from "vitest";
import { mustSucceed } from "../../client/index.ts";
import { expectGoodLooks, visitDashboard } from "../support/dashboard/browser.ts";
import { inputOf, openStudio, photoFile, runStep, stepCard } from "../support/dashboard/film.ts";
import { newPerson } from "../support/dashboard/person.ts";
import { until } from "../support/until.ts";

const visit = visitDashboard();

test("a character and a place in the cast → a frame is made with them; after a change it is outdated, and can be repeated", async () => {
  const person = await newPerson();
  const { keyframe } = person;
  const { filmId } = await keyframe.films.create({ title: "The pier" });
  const shot = { title: "The boat", textPrompt: "@Anna waits on @the pier", filmId };
  const { projectId } = await keyframe.createProject(shot);
  await keyframe.elements.create({ kind: "place", name: "The pier", text: "Wooden, in fog" });

  const { page, watch } = await visit({ session: person.session });
  await page.goto(`/#/films/${filmId}`);
  await page.getByLabel("Add to the cast").selectOption({ label: "The pier (place)" });
  const cast = page.getByRole("list", { name: "Cast" });
  await cast.getByText("The pier").waitFor();
  await page.getByRole("button", { name: "New element" }).click();
  const form = page.getByRole("dialog", { name: "New element" });
  await form.getByLabel("Name").fill("the PIER");
  await form.getByText("Another element has this name.").waitFor();
  await form.getByLabel("Name").fill("Anna");
  await form.getByLabel("Text").fill("A red coat");
  await form.locator("input[type=file]").setInputFiles(photoFile(person.email));
  await form.getByRole("img", { name: "Image 1" }).waitFor();
  await form.getByRole("button", { name: "Create element" }).click();
  await cast.getByRole("img", { name: "Anna" }).waitFor();
  await expectGoodLooks(page);

  await openStudio(page, projectId);
  await runStep(page, "First frame");
  const { takes } = await keyframe.readProject(projectId);
  const take = mustSucceed(takes["first-frame"] ?? expect.fail("There is no take."));
  const prompt = "Anna waits on The pier\n\nAnna: A red coat\nThe pier: Wooden, in fog";
  expect(take.input).toMatchObject({ prompt, referenceImagePaths: [expect.any(String)] });

  await page.goto(`/#/films/${filmId}`);
  await page.getByRole("button", { name: "Actions for Anna" }).click();
  await page.getByRole("menuitem", { name: "Edit" }).click();
  const edit = page.getByRole("dialog", { name: "Edit element" });
  await edit.getByLabel("Text").fill("A yellow coat");
  await edit.getByRole("button", { name: "Save" }).click();
  await cast.getByText("A yellow coat").waitFor();

  await openStudio(page, projectId);
  const card = stepCard(page, "First frame");
  await card.getByRole("button", { name: "Enlarge the first frame" }).click();
  const about = page.getByRole("dialog");
  await about.getByText("Anna has changed.").waitFor();
  await inputOf(about, "Elements").getByText("Anna, The pier").waitFor();
  await about.getByRole("button", { name: "Use these inputs" }).click();
  await card.getByRole("button", { name: /^Settings/ }).click();
  await card.getByText("As in that take: Anna, The pier.").waitFor();
  const again = async () => {
    const before = (await keyframe.readProject(projectId)).predictions["first-frame"]?.predictionId;
    await card.getByRole("button", { name: /^Generate again:/ }).click();
    return await until("the next run", async () => {
      const { predictions } = await keyframe.readProject(projectId);
      const latest = predictions["first-frame"];
      return latest?.predictionId === before || latest?.completedAt === null ? undefined : latest?.input;
    });
  };
  expect(await again()).toEqual(take.input);
  await card.getByRole("button", { name: "Use the cast as it is now" }).click();
  const now = "Anna waits on The pier\n\nThe pier: Wooden, in fog\nAnna: A yellow coat"; // in the order of the cast
  expect((await again())?.prompt).toBe(now);

  await card.getByText("With The pier, Anna").waitFor();
  await page.getByLabel("Cast").selectOption("Only by @name");
  await until("the choice", async () => (await keyframe.readProject(projectId)).elementIds?.length === 0);
  watch.allow(/status of 400/);
  await card.getByLabel("Prompt for this step").fill("@Bob waits");
  await card.getByText("“@Bob” isn't in the cast (The pier, Anna).").waitFor();
  await card.getByText("“@Bob” isn't in the cast (Anna, The pier).").waitFor(); // the price's refusal, by name
  await card.getByLabel("Prompt for this step").fill("Nobody waits");
  await card
    .getByText(/isn't in the cast/)
    .first()
    .waitFor({ state: "hidden" });
  await card.getByText("Without elements").waitFor();
});

test("@ is typed in a prompt → names are offered, by keys and by pointer; the shot says whom it uses before it is paid", async () => {
  const { keyframe, session } = await newPerson();
  const cast = ["Anna", "Jon", "The pier"].map((name) => keyframe.elements.create({ name }));
  const elementIds = (await Promise.all(cast)).map(({ elementId }) => elementId);
  const { filmId } = await keyframe.films.create({ title: "The pier", elementIds });
  const { projectId } = await keyframe.createProject({ title: "The boat", textPrompt: "no people", filmId });
  const { page, watch } = await visit({ session });
  watch.allow(/status of 400/);
  await openStudio(page, projectId);
  const card = stepCard(page, "First frame");
  await card.getByText("With Anna, Jon, The pier").waitFor();
  const prompt = page.getByLabel("Prompt", { exact: true });
  await prompt.fill("");
  await prompt.pressSequentially("@");
  const options = page.getByRole("listbox", { name: "Elements" }).getByRole("option");
  expect((await options.allTextContents()).map((one) => one.split(" ·")[0])).toEqual(["Anna", "Jon", "The pier"]);
  await prompt.press("ArrowDown");
  const active = await prompt.getAttribute("aria-activedescendant");
  expect(await page.locator(`[id="${active}"][aria-selected=true]`).textContent()).toContain("Jon");
  await expectGoodLooks(page);
  await prompt.press("Escape");
  await options.first().waitFor({ state: "detached" });
  await prompt.pressSequentially("j");
  await prompt.press("Enter");
  await prompt.pressSequentially("waits on @the");
  await options.first().click();
  expect(await prompt.inputValue()).toBe("@Jon waits on @The pier ");
  await prompt.pressSequentially("with @Bo ");
  await page
    .getByText("“@Bo” isn't in the cast (Anna, Jon, The pier). Fix the name, or put a space after the @.")
    .first()
    .waitFor();
  await card.getByText(/isn't in the cast/).waitFor(); // the price is asked for what would be saved
  await expectGoodLooks(page);
  await prompt.fill("@Jon waits on @The pier");
  await page.getByText("isn't in the cast").first().waitFor({ state: "detached" });
  await card.getByText("isn't in the cast").waitFor({ state: "hidden" });
  await card.getByText("With Jon, The pier").waitFor();
  await card.getByRole("button", { name: /^Save and generate:/ }).click();
  const made = await until("the first frame", async () => {
    const { predictions } = await keyframe.readProject(projectId);
    return predictions["first-frame"];
  });
  expect(made.input.elements.map(({ name }) => name)).toEqual(["Jon", "The pier"]);

  await page.goto(`/#/films/${filmId}`);
  await page.getByRole("button", { name: "New shot" }).click();
  const form = page.getByRole("dialog", { name: "New shot" });
  await form.getByLabel("Prompt").pressSequentially("@an");
  await options.first().waitFor();
  await form.getByLabel("Prompt").press("Escape");
  await options.first().waitFor({ state: "detached" });
  await form.waitFor(); // Escape closes the list alone
});

test("the page of elements → made, changed and deleted there, and where each is used", async () => {
  const { keyframe, session } = await newPerson();
  const { page } = await visit({ session });
  await page.goto("/#/elements");
  await page.getByRole("button", { name: "New element" }).click();
  await page.getByLabel("Name").fill("Anna");
  await page.getByRole("button", { name: "Create element" }).click();
  const list = page.getByRole("list", { name: "Elements" });
  await list.getByText("Not used yet").waitFor();
  const [anna] = (await keyframe.elements.list()).elements;
  const elementIds = [anna?.elementId ?? ""];
  await keyframe.films.create({ title: "The pier", elementIds });
  await keyframe.createProject({ title: "The boat", textPrompt: "A boat", elementIds });
  await page.reload();
  await list.getByText("Used in The pier, The boat").waitFor();
  await expectGoodLooks(page);
  await page.getByRole("button", { name: "Actions for Anna" }).press("Enter");
  await page.getByRole("menuitem", { name: "Edit" }).press("Enter");
  await page.getByLabel("Text").fill("A red coat");
  await page.getByRole("button", { name: "Save" }).click();
  await list.getByText("A red coat").waitFor();
  await page.getByRole("button", { name: "Actions for Anna" }).press("Enter");
  await page.getByRole("menuitem", { name: "Delete" }).press("Enter");
  await page.getByRole("dialog", { name: "Delete element?" }).getByRole("button", { name: "Delete element" }).click();
  await page.getByRole("heading", { name: "No elements yet" }).waitFor();
  await page.goto("about:blank"); // it is deleted then
  await until("it is gone", async () => (await keyframe.elements.list()).elements.length === 0);
});

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
  await form.getByText("Another element of the cast has this name.").waitFor();
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
  await about.getByText("Anna has changed since.").waitFor();
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

  await page.getByLabel("Cast").selectOption("Only by @name");
  await until("the choice", async () => (await keyframe.readProject(projectId)).elementIds?.length === 0);
  watch.allow(/status of 400/);
  await card.getByLabel("Prompt for this step").fill("@Bob waits");
  await card.getByText(/names no element/).waitFor();
});

import { expect, test } from "vitest";
import { expectGoodLooks, visitDashboard } from "../support/dashboard/browser.ts";
import { newFilmOf, openStudio, stepCard, takeAt } from "../support/dashboard/film.ts";
import { newPerson } from "../support/dashboard/person.ts";
import { until } from "../support/until.ts";

// A first frame by the default model costs $0.067.
const visit = visitDashboard();

test("three takes are chosen → the price is of all, one press starts them, and the history has them", async () => {
  const person = await newPerson();
  const { projectId } = await newFilmOf(person);
  const { page } = await visit({ session: person.session });
  await openStudio(page, projectId);
  const card = stepCard(page, "First frame");
  await card.getByLabel("Takes: first frame").selectOption("3 takes");
  await card.getByText("about $0.201").waitFor();
  await card.getByRole("button", { name: /^Generate:/ }).click();
  await card.getByText("Done").waitFor();
  await until("all takes", async () => {
    const { predictions } = await person.keyframe.listPredictions(projectId, { status: "succeeded" });
    return predictions.length === 3;
  });
  await card.getByRole("button", { name: "History of the first frame" }).click();
  await takeAt(page.getByRole("dialog"), 2).waitFor();
  await expectGoodLooks(page);
});

test("a film generates what is missing → names what cannot start, shows the price of what is ticked, and starts that", async () => {
  const person = await newPerson();
  const { keyframe } = person;
  const { filmId } = await keyframe.films.create({ title: "The pier" });
  for (const title of ["One", "Two", "Three"]) await keyframe.createProject({ title, textPrompt: "A pier", filmId });
  const { page } = await visit({ session: person.session });
  await page.goto(`/#/films/${filmId}`);
  await page.getByRole("button", { name: "Generate what is missing" }).click();
  const window = page.getByRole("dialog", { name: "Generate what is missing" });
  await window.getByText("About $0.201").waitFor();
  await expectGoodLooks(page);
  await window.getByText("Video", { exact: true }).click();
  await window.getByText("It has no first frame yet.").nth(2).waitFor();
  expect(await window.getByRole("button", { name: "Generate", exact: true }).getAttribute("aria-disabled")).toBe(
    "true",
  );
  await window.getByText("First frame", { exact: true }).click();
  await window.getByLabel("2. Two").uncheck();
  await window.getByText("About $0.134").waitFor();
  await window.getByRole("button", { name: "Generate 2 first frames" }).click();
  await window.getByText("2 first frames started.").waitFor();
  await until("the frames of the first and the third shot", async () => {
    const { shots } = await keyframe.films.read(filmId);
    return shots.map(({ takes }) => takes["first-frame"] !== null).join() === "true,false,true";
  });
});

import { expect, test } from "vitest";
import { openDatabase } from "../support/api/database.ts";
import { changeProject } from "../support/api/projects.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { startStuck } from "../support/api/stuck.ts";
import { signUp } from "../support/api/user.ts";
import { expectGoodLooks, visitDashboard } from "../support/dashboard/browser.ts";
import { newFilmOf, openStudio, stepCard, takeAt } from "../support/dashboard/film.ts";
import { newPerson } from "../support/dashboard/person.ts";
import { until } from "../support/until.ts";

// A first frame by the default model costs $0.067.
const visit = visitDashboard();
const sql = openDatabase();

test("three takes are chosen → the price is of all, one press starts them, and the card shows three with their prices", async () => {
  const person = await newPerson();
  const { projectId } = await newFilmOf(person);
  const { page } = await visit({ session: person.session });
  await openStudio(page, projectId);
  const card = stepCard(page, "First frame");
  await card.getByLabel("Takes: first frame").selectOption("3 takes");
  await card.getByText("about $0.20").waitFor();
  await card.getByRole("button", { name: /^Generate:/ }).click();
  await card.getByText("Done").waitFor();
  await until("all takes", async () => {
    const { predictions } = await person.keyframe.listPredictions(projectId, { status: "succeeded" });
    return predictions.length === 3;
  });
  const takes = card.getByRole("list", { name: "Takes of the first frame" }).getByRole("button");
  await until(
    "three with a price",
    async () => (await takes.allTextContents()).filter((one) => one === "$0.07").length === 3,
  );
  await expectGoodLooks(page);
  await takes.nth(2).click();
  await until("the first take is selected", async () => {
    const [, , first] = (await person.keyframe.listPredictions(projectId)).predictions;
    return (await person.keyframe.readProject(projectId)).selected["first-frame"] === first?.predictionId;
  });
  await until("it is shown as used", async () => (await takes.nth(2).getAttribute("aria-pressed")) === "true");
  await card.getByRole("button", { name: "All takes: first frame" }).press("Enter");
  await takeAt(page.getByRole("dialog"), 2).waitFor();
});

test("a film generates what is missing → its price and what the budget lacks; each shot shows what runs, and why it failed", async () => {
  const user = await signUp();
  const filmId = await user.createFilm();
  const addShot = (title: string, textPrompt = "A pier") => user.createProject({ title, textPrompt, filmId });
  const { predictionId } = await startStuck(sql, user, "first-frame", await addShot("One"));
  const { data } = await user.supabase.auth.getSession();
  const { page } = await visit({ session: data.session });
  await page.goto(`/#/films/${filmId}`);
  const steps = (title: string) => page.getByRole("list", { name: `Steps of ${title}` });
  const missing = page.getByRole("button", { name: "Generate what is missing" });
  await steps("One").getByText("First frame: Starting").waitFor();
  await page.getByText("Generating: 1 first frame.").waitFor();
  expect(await missing.getAttribute("aria-busy")).toBe("true"); // there is nothing else to make

  await addShot("Two");
  const three = await addShot("Three", uniquePrompt("A pier [[fault:failed=The sea was too rough.]]"));
  await addShot("Four");
  await until("it can be pressed", async () => (await missing.getAttribute("aria-busy")) === null);
  await expectGoodLooks(page);
  await sql`insert into keyframe_private.owner_budgets (owner_id, month_micros) values (${user.id}, 217000)`;
  await missing.click();
  const window = page.getByRole("dialog", { name: "Generate what is missing" });
  await window.getByText("About $0.20").waitFor(); // without the one that is being made, whose $0.07 are reserved
  const problem = "3 first frames can cost $0.20, and your budget has $0.15 left. Choose fewer shots, a cheaper model,";
  await window.getByText(problem).waitFor();
  await expectGoodLooks(page);
  await window.getByText("Video", { exact: true }).click();
  await window.getByText("It has no first frame yet.").nth(3).waitFor();
  expect(await window.getByRole("button", { name: "Generate", exact: true }).getAttribute("aria-disabled")).toBe(
    "true",
  );
  await window.getByText("First frame", { exact: true }).click();
  await window.getByLabel("4. Four").uncheck();
  await window.getByText("About $0.13").waitFor();
  await window.getByText("your budget").waitFor({ state: "detached" });
  await window.getByRole("button", { name: "Generate 2 first frames" }).click();
  await window.getByText("2 first frames started.").waitFor();
  await window.getByRole("button", { name: "Done" }).click();

  await page.getByRole("img", { name: "First frame of Two" }).waitFor();
  await steps("Three").getByText("First frame: Failed").waitFor();
  await steps("Three").getByText("The sea was too rough.").waitFor();
  await sql`select keyframe_private.mark_failed(${predictionId}, 'failed_by_administrator', 'Ended.', false)`;
  await steps("One").getByText("Ended.").waitFor();
  await page.getByText("Under way").waitFor({ state: "detached" });

  await sql`delete from keyframe_private.owner_budgets where owner_id = ${user.id}`;
  await changeProject(user, three, { textPrompt: "A pier" });
  await missing.click();
  await window.getByRole("button", { name: "Generate 3 first frames" }).click();
  for (const title of ["One", "Three", "Four"]) await page.getByAltText(`First frame of ${title}`).waitFor();
  await window.getByText("3 first frames started.").waitFor();
});

import type { Page } from "playwright-core";
import { expect, inject, test } from "vitest";
import { openDatabase } from "../support/api/database.ts";
import { expectGoodLooks, visitDashboard } from "../support/dashboard/browser.ts";
import { stepCard } from "../support/dashboard/film.ts";
import { newPerson, type Person } from "../support/dashboard/person.ts";

// A first frame by the default model costs $0.067 in 1K and $0.101 in 2K.
const visit = visitDashboard();
const sql = openDatabase();

async function openStudio(page: Page, { keyframe }: Person) {
  const project = await keyframe.createProject({ title: "Harbour", textPrompt: "A harbour at dawn" });
  await page.goto(`/#/projects/${project.projectId}`);
  await stepCard(page, "First frame").waitFor();
  return project;
}

const setBudget = ({ session }: Person, month: number) =>
  sql`
    insert into keyframe_private.owner_budgets (owner_id, month_micros) values (${session.user.id}, ${month})
    on conflict (owner_id) do update set month_micros = excluded.month_micros`;

const chooseResolution = (page: Page, value: string) =>
  stepCard(page, "First frame")
    .getByRole("radiogroup", { name: "Resolution" })
    .getByText(value, { exact: true })
    .click();

test("another resolution → the old price is dimmed until the new one is read; its cost is on the take and among the sums", async () => {
  const person = await newPerson();
  const { page } = await visit({ session: person.session });
  await openStudio(page, person);
  const card = stepCard(page, "First frame");
  await card.getByText("about $0.07").waitFor();
  await card.getByRole("button", { name: "Settings" }).click();
  const held = Promise.withResolvers<void>();
  await page.route("**/estimate", (route) => held.promise.then(() => route.continue()));
  await chooseResolution(page, "2K");
  await card.locator("[data-old]", { hasText: "about $0.07" }).waitFor();
  held.resolve();
  await card.getByText("about $0.10").waitFor();
  expect(await card.locator("[data-old]").count()).toBe(0);
  await page.setViewportSize({ width: 1280, height: 480 });
  await card.getByText("No earlier pictures yet.").scrollIntoViewIfNeeded();
  for (const shown of [card.getByText("about $0.10"), card.getByRole("button", { name: "Generate" })]) {
    const { y = -1, height = 0 } = (await shown.boundingBox()) ?? {};
    expect(y).toBeGreaterThanOrEqual(60); // below the header
    expect(y + height).toBeLessThan(480);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  const button = card.getByRole("button", { name: "Generate" });
  const described = await button.evaluate((one) =>
    (one.getAttribute("aria-describedby") ?? "").split(" ").map((id) => document.getElementById(id)?.textContent),
  );
  expect(described).toEqual(["about $0.10", ""]);
  await button.click();
  await card.getByText(/took .* · \$0\.10$/).waitFor();
  await card.getByRole("button", { name: "All takes: first frame" }).click();
  await page
    .getByRole("dialog")
    .getByText(/took .* · \$0\.10$/)
    .waitFor();
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: "Account and theme" }).click();
  await page.getByRole("menuitem", { name: "This month $0.10" }).waitFor();
  await expectGoodLooks(page);
  await page.getByRole("menuitem", { name: "This month $0.10" }).click();
  await page.getByRole("heading", { name: "This month $0.10" }).waitFor();
  await page.getByText("You have no budget of your own.").waitFor();
  const row = (name: string) => page.getByRole("row").filter({ has: page.getByText(name, { exact: true }) });
  const today = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" }).format(new Date());
  for (const [group, name] of [
    ["Day", today],
    ["Step", "First frame"],
    ["Model", "Nano Banana 2"],
    ["Project", "Harbour"],
  ] as const) {
    await page.getByRole("radiogroup", { name: "Sums by" }).getByText(group, { exact: true }).click();
    await row(name).waitFor();
    expect(await row(name).getByRole("cell").allTextContents()).toEqual([name, "1", "$0.10", "$0.00"]);
    expect(await row("Total").getByRole("columnheader").allTextContents()).toEqual(["Total", "1", "$0.10", "$0.00"]);
  }
  await page.getByLabel("Month", { exact: true }).selectOption({ index: 1 });
  await page.getByText("No takes in this month.").waitFor();
  await page.getByRole("heading", { name: /\d{4} \$0\.00$/ }).waitFor();
  expect(await page.getByText("You have no budget of your own.").count()).toBe(0); // a budget is of now
  await expectGoodLooks(page);
});

test("a start over the budget → said before, refused with what is left; a cheaper one → made and counted", async () => {
  const person = await newPerson();
  await setBudget(person, 100_000);
  const { page, watch } = await visit({ session: person.session });
  watch.allow(/status of 402/);
  await openStudio(page, person);
  const card = stepCard(page, "First frame");
  await card.getByText("about $0.07").waitFor();
  await card.getByRole("button", { name: "Settings" }).click();
  await chooseResolution(page, "2K");
  await card
    .getByText(
      "This take can cost $0.101, and your budget has $0.10 left. Choose a cheaper model, resolution or length.",
    )
    .waitFor();
  await card.getByRole("button", { name: "Generate" }).click();
  const refusal = card.getByRole("alert").filter({ hasText: "Could not start" });
  await refusal.getByText("Your budget for this month has $0.10 of $0.10 left; this start can cost $0.101.").waitFor();
  expect(
    await card
      .getByText(/your budget/i)
      .and(page.locator(":visible"))
      .count(),
  ).toBe(1); // not said twice
  await expectGoodLooks(page);
  await chooseResolution(page, "1K");
  await refusal.waitFor({ state: "detached" });
  await card.getByText("and your budget has").waitFor({ state: "hidden" });
  await card.getByRole("button", { name: "Generate" }).click();
  await card.getByText(/took .* · \$0\.07$/).waitFor();
  await card.getByText("This take can cost $0.07, and your budget has $0.03 left.").waitFor();
  await page.getByRole("link", { name: "Usage" }).click();
  await page.getByRole("heading", { name: "This month $0.07 of $0.10" }).waitFor();
  await page.getByText("Your budget for this month has $0.03 of $0.10 left.").waitFor();
  expect(await page.getByRole("progressbar").getAttribute("aria-valuenow")).toBe("67");
  await expectGoodLooks(page);
});

test("a balance below the cost of 8 takes → said beside their button, with the app's link; in the menu and among the sums", async () => {
  const person = await newPerson();
  await sql`select keyframe_private.add_credit(${person.session.user.id}, 500000, 'grant', 'welcome', 'fifty cents')`;
  const { page, watch } = await visit({ session: person.session });
  watch.allow(/status of 402/);
  const { publishableKey } = inject("stack");
  const json = { publishableKey, creditUrl: "https://app.example/credit" };
  await page.route("**/config.json", (route) => route.fulfill({ json }));
  await openStudio(page, person);
  const card = stepCard(page, "First frame");
  await card.getByText("about $0.07").waitFor();
  await card.getByLabel("Takes: first frame").selectOption("8 takes");
  await card
    .getByText("8 takes can cost $0.54, and your balance is $0.50. Add credit, or choose fewer takes,")
    .waitFor();
  expect(await card.getByRole("link", { name: "Add credit" }).getAttribute("href")).toBe("https://app.example/credit");
  await expectGoodLooks(page);
  await card.getByRole("button", { name: /^Generate:/ }).click();
  const refusal = card.getByRole("alert").filter({ hasText: "Could not start 8 takes" });
  await refusal.getByText("This start can cost $0.54, and your balance is $0.50. Add credit,").waitFor();
  await refusal.getByRole("link", { name: "Add credit" }).waitFor();
  await page.getByRole("button", { name: "Account and theme" }).click();
  await page.getByRole("menuitem", { name: "This month $0.00, balance $0.50" }).waitFor();
  await expectGoodLooks(page);
  await page.getByRole("menuitem", { name: "This month" }).click();
  await page.getByText("Your balance is $0.50.").waitFor();
});

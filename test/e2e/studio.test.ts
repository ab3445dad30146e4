import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launchBrowser } from "../../tools/demo/browser.ts";
import { expectNoFindings } from "../support/dashboard/browser.ts";
import { type OwnStack, startOwnStack } from "../support/stack/own-stack.ts";
import { until } from "../support/until.ts";

// An administrator's work in the Studio that npm start prints. The demo user is the only one. Each recipe of the guides, by what Studio's
// SQL page runs: test/db/service/admin-recipes.test.ts, costs/costs.test.ts and models/model-rows.test.ts.

let stack: OwnStack;
let browser: Browser;
let page: Page;
beforeAll(async () => {
  [stack, browser] = await Promise.all([startOwnStack(), launchBrowser()]);
  page = await browser.newPage({ baseURL: stack.url });
});
afterAll(() => Promise.all([browser?.close(), stack?.stop()]));

const follow = (name: string) => page.getByRole("link", { name, exact: true }).click();
const press = (name: string) => page.getByRole("button", { name, exact: true }).click();
const fill = (column: string, text: string) => page.getByLabel(column, { exact: true }).fill(text);
const said = (text: string) => page.getByRole("status").getByText(text, { exact: true }).waitFor();
const rowWith = (...texts: string[]) =>
  texts.reduce((rows, hasText) => rows.filter({ hasText }), page.getByRole("row"));

test("/studio → opens on our tables; a project and a prediction of two fields each → the prediction runs to its end", async () => {
  await page.goto("/studio");
  await page.getByRole("heading", { name: "keyframe.projects", exact: true }).waitFor();
  await page.getByText("It has no filters (use SQL), manages no users and no files, and changes no tables.").waitFor();
  await follow("Insert row");
  await fill("title", "By hand");
  await fill("text_prompt", "A harbour at dawn");
  await press("Insert row");
  await said("Inserted.");
  const id = (await rowWith("By hand").getByRole("cell").nth(1).textContent()) ?? "";

  await follow("predictions");
  await follow("Insert row");
  await fill("project_id", id);
  await page.getByLabel("step", { exact: true }).selectOption("first-frame");
  await press("Insert row");
  await said("Inserted.");
  await until("it has succeeded", async () => {
    await page.reload();
    return (await rowWith(id, "succeeded").count()) === 1;
  });
});

test("a model and a price → edited; only what was changed is sent", async () => {
  await page.goto("/studio");
  await follow("models");
  await rowWith("google/veo-3.1-fast").getByRole("link", { name: "Edit" }).click();
  await fill("label", "Veo, fast");
  await page.getByLabel("enabled", { exact: true }).selectOption("false");
  await press("Save");
  await said("Saved.");
  const [model] = await stack.sql`select label, enabled from keyframe.models where model = 'google/veo-3.1-fast'`;
  expect(model).toEqual({ label: "Veo, fast", enabled: false });

  await follow("model_prices");
  await follow("Insert row");
  for (const [column, text] of Object.entries({
    ...{ model: "google/veo-3.1", metric: "output_second", price_usd: "0.35", source: "https://replicate.com" },
    ...{ applies_to: '{"audio": true}', valid_from: "2100-01-01" },
  }))
    await fill(column, text);
  await press("Insert row");
  await said("Inserted.");
  const [{ id } = { id: "" }] = await stack.sql`select id from keyframe_private.model_prices where valid_from > now()`;
  await page.goto(`/studio/table/keyframe_private/model_prices/row?key=${id}`);
  await fill("price_usd", "0.3");
  await press("Save");
  await said("Saved.");
  expect(await stack.sql`select price_usd from keyframe_private.model_prices where id = ${id}`).toEqual([
    { price_usd: "0.3" },
  ]);
  await page.goto(`/studio/table/keyframe_private/model_prices/row?key=${id}`);
  await press("Save");
  await said("Nothing was changed.");
  await page.goto(`/studio/table/keyframe_private/model_prices/row?key=${id}`);
  await page.getByText("Delete this row").click();
  await press("Delete row");
  await said("Deleted.");
});

test("a row that is refused → why, beside what was typed", async () => {
  await page.goto("/studio/table/keyframe/models");
  await rowWith("kwaivgi/kling-v2.6").getByRole("link", { name: "Edit" }).click();
  await fill("controls", '{"prompt": {"field": "prompt"}, "audio": {}}');
  await press("Save");
  await page.getByRole("alert").getByText("controls.audio", { exact: false }).first().waitFor();
  expect(await page.getByLabel("controls", { exact: true }).inputValue()).toContain('"audio": {}');

  const [project] = await stack.sql`select id from keyframe.projects`;
  await page.goto("/studio/table/keyframe/predictions/new");
  await fill("project_id", String(project?.id));
  await page.getByLabel("step", { exact: true }).selectOption("video");
  await fill("model", "no/such-model");
  await press("Insert row");
  await page.getByRole("alert").getByText("There is no such model for the step video.", { exact: false }).waitFor();
});

test("step_defaults → each row is another; a view → says where its rows are changed; looks good on every page", async () => {
  await page.goto("/studio/table/keyframe/step_defaults");
  for (const step of ["first-frame", "last-frame", "video"]) expect(await rowWith(step).count()).toBe(1);
  await expectNoFindings(page);
  await page.goto("/studio/table/keyframe_private/admin_costs");
  await page.getByText("A view: change the rows of its tables.").waitFor();
  await page.goto("/studio/table/keyframe/predictions/new");
  await expectNoFindings(page);
});

test("statements in SQL → the rows of each; one that is refused → why, beside what was typed", async () => {
  await page.goto("/studio/sql");
  await page.getByRole("textbox").fill("select 6 * 7 as answer; select current_user as who");
  await press("Run");
  const result = page.getByRole("status", { name: "Result" });
  for (const text of ["42", "postgres"]) await result.getByRole("cell", { name: text, exact: true }).waitFor();
  await page.getByRole("textbox").fill("select none");
  await press("Run");
  await page.getByRole("alert").getByText('column "none" does not exist').waitFor();
  expect(await page.getByRole("textbox").inputValue()).toBe("select none");
});

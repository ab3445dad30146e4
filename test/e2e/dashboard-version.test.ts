import { expect, test } from "vitest";
import { openDatabase } from "../support/api/database.ts";
import { visitDashboard } from "../support/dashboard/browser.ts";
import { newPerson } from "../support/dashboard/person.ts";

const visit = visitDashboard();
const sql = openDatabase();

test("the account menu → the version that the database has installed", async () => {
  const [installed] = await sql<{ version: string }[]>`select version from keyframe_private.installation`;
  const { page } = await visit({ session: (await newPerson()).session });
  await page.goto("/#/projects");
  await page.getByRole("button", { name: "Account and theme" }).click();
  await page.getByRole("menu").getByText(`Keyframe ${installed?.version}`).waitFor();
});

test("a database that lacks migrations → a banner that says what to do, and no talk of the connection", async () => {
  const message = "The database lacks migrations that this version of the functions needs. Apply them.";
  const { page, watch } = await visit({ session: (await newPerson()).session });
  watch.allow(/Failed to load resource/);
  await page.route("**/functions/v1/api/**", (route) => {
    const error = { code: "schema_outdated", message, requestId: "r" };
    return route.fulfill({ status: 503, json: { success: false, data: null, error } });
  });
  await page.goto("/#/projects");
  await page.getByRole("status").getByText(message).waitFor();
  expect(await page.getByText("Cannot reach the service").count()).toBe(0);
});

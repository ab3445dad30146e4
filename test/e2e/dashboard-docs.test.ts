import { expect, inject, test } from "vitest";
import { visitDashboard } from "../support/dashboard-browser.ts";
import { newPerson } from "../support/dashboard-person.ts";
import { openApi, places } from "../support/openapi-document.ts";

const visit = visitDashboard();

test("the API reference → every operation and event of openapi.json", async () => {
  const { page } = await visit({ session: (await newPerson()).session });
  await page.goto("/docs"); // the short address that npm start prints
  await page.locator(".opblock").first().waitFor();
  expect(new URL(page.url()).hash).toBe("#/docs");
  const listed = await page.$$eval(".opblock", (blocks) =>
    blocks.map((block) => {
      const text = (selector: string) => block.querySelector(selector)?.textContent?.replaceAll("\u200b", "") ?? "";
      return `${text(".opblock-summary-method")} ${text(".opblock-summary-path")}`;
    }),
  );
  const events = Object.keys(openApi.webhooks).map((name) => `POST ${name}`);
  const operations = places.map(({ method, template }) => `${method} ${template}`);
  expect(listed.toSorted()).toEqual([...operations, ...events].toSorted());
});

test("a request from the API reference → 200 with the signed-in user's projects, and its curl to copy", async () => {
  const { session, keyframe } = await newPerson();
  await keyframe.createProject({ title: "Seen in the docs", textPrompt: "A harbour at dawn" });
  const { page } = await visit({ session });
  await page.goto("/#/docs");
  const operation = page.locator("#operations-Projects-listProjects");
  await operation.locator(".opblock-summary-control").click();
  await operation.locator(".execute").click();
  const answer = operation.locator(".live-responses-table tbody");
  await answer.getByText("Seen in the docs").first().waitFor();
  expect(await answer.locator(".response-col_status").first().textContent()).toContain("200");
  const curl = (await operation.locator(".curl-command").textContent()) ?? "";
  expect(curl).toContain(`${inject("stack").url}/functions/v1/api/projects`);
  expect(curl).toContain(`Authorization: Bearer ${session.access_token}`);
});

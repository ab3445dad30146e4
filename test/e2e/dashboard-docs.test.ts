import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { expectGoodLooks, visitDashboard } from "../support/dashboard/browser.ts";
import { furnish, newPerson } from "../support/dashboard/person.ts";
import { until } from "../support/until.ts";
import { type FlowReceiver, startFlowReceiver } from "../support/receiver/receiver.ts";
import { answers } from "../support/receiver/habits.ts";
import { openApi, type Place, places, type Schema } from "../support/openapi/document.ts";

const visit = visitDashboard();
let receiver: FlowReceiver;
beforeAll(async () => {
  receiver = await startFlowReceiver(answers(204));
});
afterAll(() => receiver?.close());

/** The operation as its label names it, closed or open. */
const labelOf = (page: Page, { method, template, described }: Place) =>
  page.getByRole("button", { name: `${method} ${template} ${described.summary}`, exact: true });

const placeOf = (operationId: string) => {
  const place = places.find(({ id }) => id === operationId);
  if (place === undefined) throw new Error(`openapi.json has no ${operationId}.`);
  return place;
};

/** The text of an operation that is open, without the line breaks that the layout makes. */
const textOf = async (page: Page) => ((await page.getByRole("region").textContent()) ?? "").replaceAll("`", "");

test("the API reference → every operation and event; opened → what it takes, and a command with what is the reader's own", async () => {
  const person = await newPerson();
  const { session, keyframe } = person;
  const { projectId, webhookId, filmId } = await furnish(person, receiver.url);
  const [delivery] = (await keyframe.webhooks.deliveries(webhookId)).deliveries;
  const later = await keyframe.webhooks.create({ url: receiver.url, eventTypes: ["generation.failed"] }); // without a delivery
  const { page, context } = await visit({ session });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto("/docs"); // the short address that npm start prints
  await page.getByRole("heading", { level: 2 }).first().waitFor();
  expect(new URL(page.url()).hash).toBe("#/docs");
  const listed = await page.$$eval("main section h3 code", (labels) => labels.map((label) => label.textContent));
  const events = Object.keys(openApi.webhooks).map((name) => `POST ${name}`);
  const operations = places.map(({ method, template }) => `${method} ${template}`);
  expect(listed.toSorted()).toEqual([...operations, ...events].toSorted());
  const list = page.getByRole("navigation", { name: "Docs" });
  const summaries = places.map(({ described }) => described.summary);
  expect(await list.getByRole("link").allTextContents()).toEqual(expect.arrayContaining(summaries));
  const search = page.getByLabel("Search the docs");
  await search.fill("no such words anywhere");
  await list.getByText("Nothing found.").waitFor();
  await search.fill("rotate secret");
  await list.getByRole("link", { name: placeOf("rotateSecret").described.summary, exact: true }).waitFor();
  await list
    .getByRole("link", { name: /^Receive webhooks: / })
    .first()
    .waitFor(); // in a guide
  await expectGoodLooks(page);
  await search.fill("");
  await list.getByRole("link", { name: placeOf("startVideo").described.summary, exact: true }).waitFor();
  const sections = await page.getByRole("heading", { level: 2 }).allTextContents();
  expect(sections).toEqual(openApi.tags.map(({ name }) => name));

  await labelOf(page, placeOf("startVideo")).press("Enter");
  await page.getByText(`"projectId": "${projectId}"`).first().waitFor();
  expect(new URL(page.url()).hash).toBe("#/docs?operation=startVideo");
  const { described } = placeOf("startVideo");
  const { StartVideo: body } = openApi.components.schemas as { StartVideo: { properties: Record<string, Schema> } };
  const shown = await textOf(page);
  for (const [name, { description = "" }] of Object.entries(body.properties)) {
    expect(shown).toContain(name);
    expect(shown).toContain(String(description).replaceAll("`", ""));
  }
  for (const paragraph of (described.description ?? "").split("\n\n"))
    expect(shown).toContain(paragraph.replaceAll("`", ""));
  for (const status of Object.keys(described.responses)) expect(shown).toContain(status);
  for (const word of ["unsupported_input: The model does not accept", "integer, 1 to 60, or null", "Idempotency-Key"])
    expect(shown).toContain(word);
  await page.getByRole("button", { name: "Copy with your token" }).first().click();
  await page.getByText("Copied").first().waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toContain(`'${inject("stack").url}/functions/v1/api/projects/generate/video'`);
  expect(copied).toContain(`Authorization: Bearer ${session.access_token}`);
  expect(shown).not.toContain(session.access_token);

  const { predictions } = await keyframe.readProject(projectId);
  for (const [operation, ...ids] of [
    ["readFilm", filmId],
    ["readFirstFrame", projectId, predictions["first-frame"]?.predictionId],
    ["readLastFrame", projectId, predictions["last-frame"]?.predictionId],
    ["readVideo", projectId, predictions.video?.predictionId],
    ["readWebhook", later.webhookId],
    ["readDelivery", delivery?.deliveryId],
  ]) {
    await page.goto(`/#/docs?operation=${operation}`);
    for (const id of ids)
      await page
        .locator("pre", { hasText: id ?? "nothing" })
        .first()
        .waitFor();
  }
  await page.getByText("Fields of 200").click();
  await expectGoodLooks(page);
});

test("a guide → its headings, tables and code to copy; its links stay here; an unknown one → said so", async () => {
  const { session } = await newPerson();
  const { page, context } = await visit({ session });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto("/#/docs");
  await page.getByRole("link", { name: "First film in React" }).click();
  await page.getByRole("heading", { level: 1, name: "First film in React" }).waitFor();
  const text = await Deno.readTextFile("docs/react.md");
  const headings = [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
  await page.getByRole("heading", { level: 2, name: String(headings[0]) }).waitFor();
  expect(await page.locator("main h2").allTextContents()).toEqual(headings);
  expect(await page.getByRole("table").count()).toBeGreaterThan(0);
  await page.getByRole("button", { name: "Copy" }).first().click();
  await page.getByText("Copied").first().waitFor();
  const [, code = ""] = /^```\w+\n(.*?)^```$/ms.exec(text) ?? [];
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(code.trimEnd());
  await expectGoodLooks(page);
  await page.getByRole("main").getByRole("link", { name: "budgets" }).click();
  await page.getByRole("heading", { level: 1, name: "Money" }).waitFor();
  const budgets = page.getByRole("heading", { level: 2, name: "Budgets" });
  await until("the part is in sight", async () => {
    const { y = -1 } = (await budgets.boundingBox()) ?? {};
    return y >= 60 && y < 400;
  });
  await expectGoodLooks(page);
  await page.goto("/#/docs/constructor");
  await page.getByRole("heading", { name: "Guide not found" }).waitFor();
});

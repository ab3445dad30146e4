import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { expectGoodLooks, visitDashboard } from "../support/dashboard/browser.ts";
import { furnish, newPerson } from "../support/dashboard/person.ts";
import type { KeyframeClient } from "../../client/index.ts";
import { ROUTES } from "../../client/routes.ts";
import { openDatabase } from "../support/api/database.ts";
import type { Step } from "../../shared/contract/fields.ts";
import { startStuck } from "../support/api/stuck.ts";
import { drawImage } from "../support/media/images.ts";
import { until } from "../support/until.ts";
import { type FlowReceiver, startFlowReceiver } from "../support/receiver/receiver.ts";
import { answers } from "../support/receiver/habits.ts";
import { type Example, openApi, type Place, places, type Schema } from "../support/openapi/document.ts";

const visit = visitDashboard();
const sql = openDatabase();
let receiver: FlowReceiver;
let folder: string;
beforeAll(async () => {
  receiver = await startFlowReceiver(answers(204));
  folder = await Deno.makeTempDir({ prefix: "keyframe-curl-" });
});
afterAll(async () => {
  await receiver?.close();
  await Deno.remove(folder, { recursive: true });
});

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

test("the API reference → every operation and event; opened → its sentences, fields, errors and a command to copy", async () => {
  const { session, keyframe } = await newPerson();
  const { projectId } = await keyframe.createProject({ title: "Seen in the docs", textPrompt: "A harbour at dawn" });
  const { webhookId } = await keyframe.webhooks.create({ url: receiver.url, eventTypes: ["generation.failed"] });
  const { deliveryId } = await keyframe.webhooks.test(webhookId);
  await keyframe.webhooks.create({ url: receiver.url, eventTypes: ["generation.failed"] }); // later, without a delivery
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

  await page.goto("/#/docs?operation=readDelivery");
  await page.getByText(`/deliveries/${deliveryId}/attempts`).waitFor();
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

/** Somebody with everything the examples speak of. */
async function filmMaker() {
  const person = await newPerson();
  const { keyframe } = person;
  const { projectId, webhookId } = await furnish(person, receiver.url);
  const { referenceImagePath } = await keyframe.uploadReferenceImage(await drawImage());
  await keyframe.waitFor(await keyframe.generate("first-frame", { projectId, referenceImagePath }));
  const user = {
    start: (step: Step, body: object) => keyframe.generate(step, { projectId, ...body }),
    read: (step: Step, _project: string, predictionId?: string) =>
      keyframe.readPrediction({ step, projectId, predictionId: predictionId ?? "" }),
  };
  await startStuck(sql, user, "last-frame", projectId);
  await keyframe.films.create({ title: "The pier" });
  return { ...person, webhookId };
}

/** What the reference shows in TypeScript: each call is made, but for those that take something away. Those that failed. */
async function callAll(page: Page, keyframe: KeyframeClient, webhookId: string): Promise<string[]> {
  const failed: string[] = [];
  const image = new Blob([await drawImage()]);
  for (const [at, place] of places.filter(({ id }) => Object.hasOwn(ROUTES, id)).entries()) {
    await page.goto(`/#/docs?operation=${place.id}`);
    if (at === 0) await page.getByRole("main").getByText("TypeScript", { exact: true }).first().click();
    const [{ summary }] = place.described["x-examples"] as [Example];
    await page.getByRole("heading", { level: 4, name: summary, exact: true }).waitFor();
    for (const call of await page.$$eval("[role=region] section pre", (all) => all.map((one) => one.textContent))) {
      if (!call.startsWith("await keyframe.")) continue;
      const [, method = ""] = /^await keyframe\.([\w.]+)\(/.exec(call) ?? [];
      const found = method.split(".").reduce<unknown>((part, name) => Object(part)[name], keyframe);
      const run = () => new Function("keyframe", "image", `return (async () => { ${call} })()`)(keyframe, image);
      const isHarmless = !/^(delete|cancel)/.test(place.id);
      if (typeof found !== "function") failed.push(call);
      else if (isHarmless) await run().catch((error: unknown) => failed.push(`${call} ${error}`));
      if (place.id === "changeWebhook") await keyframe.webhooks.change(webhookId, { enabled: true });
    }
  }
  return failed;
}

/** Pastes a command into a shell, beside an image to upload. */
async function paste(command: string, token: string): Promise<{ status: number; answer: string }> {
  const env = { TOKEN: token, SECRET_KEY: inject("stack").secretKey };
  const shell = new Deno.Command("bash", { args: ["-c", `${command} -s -w '\n%{http_code}'`], cwd: folder, env });
  const lines = new TextDecoder().decode((await shell.output()).stdout).split("\n");
  return { status: Number(lines.pop()), answer: lines.join("\n") };
}

test("every example of the page, pasted into a shell by a person with a film and an endpoint → success", async () => {
  const { session, keyframe, webhookId } = await filmMaker();
  const { page } = await visit({ session });
  await page.goto("/#/docs?operation=readFilm");
  await page.locator("pre").first().waitFor();
  await page.locator("pre", { hasText: "FILM_ID" }).waitFor({ state: "detached" }); // the identifiers are read
  await Deno.writeFile(`${folder}/image.png`, await drawImage());
  const doomedProject = await keyframe.createProject({ title: "Doomed", textPrompt: "A" });
  const withTake = await keyframe.createProject({ title: "With a take", textPrompt: "A" });
  const { predictionId: doomedTake } = await keyframe.waitFor(
    await keyframe.generate("first-frame", { projectId: withTake.projectId }),
  );
  const doomedWebhook = await keyframe.webhooks.create({ url: receiver.url, eventTypes: ["generation.failed"] });
  const active = (await keyframe.listProjects({ include: "predictions" })).projects
    .flatMap(({ predictions }) => Object.values(predictions ?? {}))
    .find((latest) => latest !== null && latest.completedAt === null);
  const chosen: Record<string, Record<string, string>> = {
    cancelPrediction: { PROJECT_ID: active?.projectId ?? "", VIDEO_ID: active?.predictionId ?? "" },
    deletePrediction: { PROJECT_ID: withTake.projectId, FIRST_FRAME_ID: doomedTake },
    deleteProject: { PROJECT_ID: doomedProject.projectId },
    deleteWebhook: { WEBHOOK_ID: doomedWebhook.webhookId },
  };

  const results: [string, number][] = [];
  for (const place of places) {
    const { id, described } = place;
    const label = labelOf(page, place);
    if ((await label.getAttribute("aria-expanded")) !== "true") await label.dispatchEvent("click");
    const [{ summary }] = described["x-examples"] as [Example];
    await page.getByRole("heading", { level: 4, name: summary, exact: true }).waitFor();
    // The operation before is closing meanwhile.
    const commands = await until(`the commands of ${id}`, async () => {
      const texts = await page.$$eval("[role=region] section pre", (all) => all.map(({ textContent }) => textContent));
      const found = texts.filter((text) => text.includes("curl"));
      return found.length === described["x-examples"].length && found;
    });
    for (const command of commands) {
      // Each example that deletes a film needs one of its own.
      const film = id === "deleteFilm" ? await keyframe.films.create({ title: "Doomed" }) : null;
      const words = Object.entries(chosen[id] ?? (film === null ? {} : { FILM_ID: film.filmId }));
      const { status, answer } = await paste(
        words.reduce((text, [word, choice]) => text.replaceAll(word, choice), command),
        session.access_token,
      );
      results.push([id, status]);
      if (status >= 300) console.error(command, answer);
      if (id === "createWebhook") await keyframe.webhooks.delete(JSON.parse(answer).data.webhookId);
      if (id === "changeWebhook") await keyframe.webhooks.change(webhookId, { enabled: true });
    }
  }
  expect(await callAll(page, keyframe, webhookId)).toEqual([]);
  expect(results.filter(([, status]) => status < 200 || status >= 300)).toEqual([]);
  expect(results.length).toBeGreaterThan(places.length);
}, 300_000); // every operation is opened and pasted, one after the other

import { Buffer } from "node:buffer";
import type { Locator } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { axeFindings, visitDashboard } from "../support/dashboard/browser.ts";
import { furnish, newPerson } from "../support/dashboard/person.ts";
import { openDatabase } from "../support/api/database.ts";
import type { Step } from "../../shared/contract/fields.ts";
import { startStuck } from "../support/api/stuck.ts";
import { drawImage } from "../support/media/images.ts";
import { type FlowReceiver, startFlowReceiver } from "../support/receiver/receiver.ts";
import { answers } from "../support/receiver/habits.ts";
import { openApi, places } from "../support/openapi/document.ts";

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

/** Swagger UI makes a region without a name of each table of answers. Its long examples scroll: browsers focus these by themselves. */
const SWAGGERS_OWN =
  /^(landmark-unique: <table .*class="responses-table"|scrollable-region-focusable: <pre class="[^"]*microlight)/;

test("the API reference → every operation and event of openapi.json, in words that can be read; one that is tried → the reader's own projects, and its curl", async () => {
  const { session, keyframe } = await newPerson();
  await keyframe.createProject({ title: "Seen in the docs", textPrompt: "A harbour at dawn" });
  const { webhookId } = await keyframe.webhooks.create({ url: receiver.url, eventTypes: ["generation.failed"] });
  const { deliveryId } = await keyframe.webhooks.test(webhookId);
  await keyframe.webhooks.create({ url: receiver.url, eventTypes: ["generation.failed"] }); // later, without a delivery
  const { page } = await visit({ session });
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
  const sections = await page.getByRole("heading", { name: /^(Webhooks|Events)/, level: 3 }).allTextContents();
  expect(sections.map((text) => /^(Webhooks|Events)/.exec(text)?.[0])).toEqual(["Webhooks", "Events"]);
  expect(await page.getByRole("heading", { name: "Webhooks", level: 2 }).count()).toBe(0);

  const operation = page.locator("#operations-Projects-listProjects");
  await operation.locator(".opblock-summary-control").click();
  await operation.locator(".execute").click();
  const answer = operation.locator(".live-responses-table tbody");
  await answer.getByText("Seen in the docs").first().waitFor();
  expect(await answer.locator(".response-col_status").first().textContent()).toContain("200");
  const curl = (await operation.locator(".curl-command").textContent()) ?? "";
  expect(curl).toContain(`${inject("stack").url}/functions/v1/api/projects`);
  expect(curl).toContain(`Authorization: Bearer ${session.access_token}`);

  const withDelivery = page.locator("#operations-Webhooks-readDelivery");
  await withDelivery.locator(".opblock-summary-control").click();
  expect(await withDelivery.getByPlaceholder("deliveryId").inputValue()).toBe(deliveryId);
  await page.locator("#operations-Projects-changeProject .opblock-summary-control").click();
  await page.locator("#operations-Projects-changeProject .headers").first().waitFor();
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor({ state: "attached" });
    expect(
      (await axeFindings(page)).filter((finding) => !SWAGGERS_OWN.test(finding)),
      colorScheme,
    ).toEqual([]);
  }
});

test("a guide that the API reference names → its text, without another server; an unknown one → said so", async () => {
  const { session } = await newPerson();
  const { page } = await visit({ session });
  await page.goto("/#/docs");
  await page.getByRole("link", { name: "Receive webhooks" }).click();
  await page.getByRole("heading", { level: 1, name: "Receive webhooks" }).waitFor();
  await page.getByText(await Deno.readTextFile("docs/receive-webhooks.md")).waitFor();
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

/** The commands that the page shows for an operation: one for each of its examples. Nothing is sent. */
async function commandsOf(block: Locator, fill: (block: Locator) => Promise<void>): Promise<string[]> {
  // Before the mouse presses, Playwright waits until this long page stands still: half a second each time.
  const press = (button: string) => block.locator(button).dispatchEvent("click");
  const command = block.locator(".curl-command .curl");
  await press(".opblock-summary-control");
  // A reference in the document: it shows once the page has resolved the operation, and not before can it be executed.
  await block.locator("[data-param-name=X-Request-Id]").waitFor();
  await fill(block);
  await block.locator("input").first().blur(); // the page waits for the end of typing
  const choice = block.locator(".opblock-section-request-body select.examples-select-element");
  const examples =
    (await choice.count()) === 0
      ? [null]
      : await choice.locator("option").evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value));
  const commands: string[] = [];
  for (const [i, example] of examples.entries()) {
    if (i > 0) {
      await press(".btn-clear");
      await command.waitFor({ state: "detached" });
    }
    if (example !== null) await choice.selectOption(example);
    await press(".execute");
    commands.push((await command.textContent()) ?? "");
  }
  await press(".opblock-summary-control");
  expect(new Set(commands).size).toBe(examples.length);
  return commands;
}

/** Pastes a command into a shell, beside an image to upload. */
async function paste(command: string): Promise<{ status: number; answer: string }> {
  const shell = new Deno.Command("bash", { args: ["-c", `${command} -s -w '\n%{http_code}'`], cwd: folder });
  const lines = new TextDecoder().decode((await shell.output()).stdout).split("\n");
  return { status: Number(lines.pop()), answer: lines.join("\n") };
}

test("every example of the page, pasted into a shell by a person with a film and an endpoint → success", async () => {
  const { session, keyframe, webhookId } = await filmMaker();
  const { page } = await visit({ session });
  await page.goto("/#/docs");
  await page.locator(".authorize.locked").first().waitFor();
  await page.route("**/functions/v1/api/**", (route) => route.fulfill({ json: {} }));
  const photo = { name: "look.png", mimeType: "image/png", buffer: Buffer.from(await drawImage()) };
  await Deno.writeFile(`${folder}/look.png`, photo.buffer);
  const doomedProject = await keyframe.createProject({ title: "Doomed", textPrompt: "A" });
  const withTake = await keyframe.createProject({ title: "With a take", textPrompt: "A" });
  const { predictionId: doomedTake } = await keyframe.waitFor(
    await keyframe.generate("first-frame", { projectId: withTake.projectId }),
  );
  const doomedFilm = await keyframe.films.create({ title: "Doomed" });
  const doomedWebhook = await keyframe.webhooks.create({ url: receiver.url, eventTypes: ["generation.failed"] });

  const results: [string, number][] = [];
  const withSecretKey = ["readHealth", "readMetrics"];
  const run = async (id: string, tag: string) => {
    const fill = async (block: Locator) => {
      if (id === "uploadReferenceImage") await block.locator("input[type=file]").setInputFiles(photo);
      if (id === "deletePrediction") {
        await block.getByPlaceholder("projectId").fill(withTake.projectId);
        await block.getByPlaceholder("predictionId").fill(doomedTake);
        await block.getByPlaceholder("predictionId").blur();
      }
      if (id === "deleteProject") await block.getByPlaceholder("projectId").fill(doomedProject.projectId);
      if (id === "deleteFilm") await block.getByPlaceholder("filmId").fill(doomedFilm.filmId);
      if (id === "deleteWebhook") await block.getByPlaceholder("webhookId").fill(doomedWebhook.webhookId);
    };
    for (const command of await commandsOf(page.locator(`#operations-${tag}-${id}`), fill)) {
      const { status, answer } = await paste(command);
      results.push([id, status]);
      if (status >= 300) console.error(command, answer);
      if (id === "createWebhook") await keyframe.webhooks.delete(JSON.parse(answer).data.webhookId);
      if (id === "changeWebhook") await keyframe.webhooks.change(webhookId, { enabled: true });
    }
  };
  for (const { id, described } of places) if (!withSecretKey.includes(id)) await run(id, described.tags[0] ?? "");
  await page.locator(".scheme-container .authorize, .auth-wrapper .authorize").first().click();
  const secret = page.locator(".auth-container").filter({ hasText: "secretKey" });
  await secret.locator("input").fill(inject("stack").secretKey);
  await secret.getByRole("button", { name: "Apply credentials" }).click();
  await page.locator(".close-modal").click();
  for (const id of withSecretKey) await run(id, "Service");
  expect(results.filter(([, status]) => status < 200 || status >= 300)).toEqual([]);
  expect(results.length).toBeGreaterThan(places.length);
}, 300_000); // every operation is opened, executed and pasted, one after the other

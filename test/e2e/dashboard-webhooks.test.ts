import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { expectGoodLooks, visitDashboard } from "../support/dashboard/browser.ts";
import { hold, untilFocused } from "../support/dashboard/film.ts";
import { newPerson } from "../support/dashboard/person.ts";
import { type FlowReceiver, startFlowReceiver } from "../support/receiver/receiver.ts";
import { answers } from "../support/receiver/habits.ts";
import { isSignedWith, readSigned, signatures } from "../support/receiver/signed.ts";
import { until } from "../support/until.ts";

const visit = visitDashboard();
let receiver: FlowReceiver;

beforeAll(async () => {
  receiver = await startFlowReceiver(answers(204));
});
afterAll(() => receiver?.close());

const arrived = (count: number) => until(`${count} requests`, () => receiver.arrivals[count - 1]);

test("an endpoint → tested and verified, rotated, sent again with both signatures; another user sees none of it", async () => {
  const { session } = await newPerson();
  const { page } = await visit({ session, at: "/#/webhooks" });
  await page.getByRole("button", { name: "Add endpoint" }).click();
  const adding = page.getByRole("dialog");
  // Refused while it is typed, as soon as the page has the rules.
  let typed = 0;
  await until("the address is refused", async () => {
    await adding.getByLabel("URL").fill(`ftp://nowhere/${typed++}`);
    return adding.getByLabel("URL").getAttribute("aria-invalid");
  });
  await adding.getByText("The URL must begin with http:// or https://.").waitFor();
  await adding.getByText("http or https, on this machine or reachable from the internet.").waitFor();
  await adding.getByRole("button", { name: "Add endpoint" }).click();
  await untilFocused(adding.getByLabel("URL"));
  await expectGoodLooks(page);
  await adding.getByLabel("URL").fill(receiver.url);
  await adding.getByLabel("Description").fill("The edit suite");
  await adding.getByRole("button", { name: "Add endpoint" }).click();
  await page.getByRole("dialog", { name: "Endpoint added" }).waitFor();
  const secret = (await page.getByText(/^whsec_/).textContent()) ?? "";
  const opening = page.getByRole("link", { name: "Open endpoint" });
  await untilFocused(page.getByRole("button", { name: "Done" }));
  await expectGoodLooks(page);

  await page.getByRole("button", { name: "Send test" }).click();
  const testing = page.getByRole("dialog", { name: "Test event" });
  await testing.getByText("Delivered.").waitFor();
  const event = readSigned(secret, await arrived(1));
  expect(event.type).toBe("webhook.test");
  await page.keyboard.press("Escape");
  await testing.waitFor({ state: "detached" });
  expect(await opening.getAttribute("href")).toMatch(/^#\/webhooks\/[0-9a-f-]+$/); // Escape closed one window
  await page.keyboard.press("Escape");
  await untilFocused(page.getByRole("main"));
  await page.getByRole("link", { name: "The edit suite" }).click();
  await page.getByRole("heading", { level: 1, name: "The edit suite" }).waitFor();

  const settings = page.getByRole("region", { name: "Settings" });
  await settings.getByLabel("Description").fill("The cutting room");
  await settings.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { level: 1, name: "The cutting room" }).waitFor();

  await page.getByRole("button", { name: "Rotate secret…" }).click();
  await page.getByLabel("Overlap in hours").fill("2");
  await page.getByText("Give your server the new secret before then, and no event is lost.").waitFor();
  await expectGoodLooks(page);
  await page.getByRole("button", { name: "Rotate", exact: true }).click();
  const rotated = page.getByRole("dialog", { name: "New secret" });
  const newSecret = (await rotated.getByText(/^whsec_/).textContent()) ?? "";
  expect(newSecret).not.toBe(secret);
  await rotated.getByText("The old secret also signs for 2 hours: give your server the new one before then.").waitFor();
  await untilFocused(rotated.getByRole("button", { name: "Done" }));
  await page.keyboard.press("Enter");

  await page
    .getByRole("button", { name: /Delivered.*webhook\.test/s })
    .first()
    .click();
  await page.getByRole("button", { name: "Send again" }).click();
  const again = await arrived(2);
  expect(again.id).toBe(receiver.arrivals[0]?.id);
  expect(signatures(again)).toHaveLength(2);
  expect([isSignedWith(secret, again), isSignedWith(newSecret, again)]).toEqual([true, true]);
  // The page gets there by itself.
  await page.getByText("2 attempts").waitFor();
  await page.getByRole("button", { name: "Send again" }).click();
  expect((await arrived(3)).id).toBe(again.id);
  await page.getByText("3 attempts").waitFor();

  await page.getByRole("button", { name: "Rotate secret…" }).click();
  await page.getByLabel("Overlap in hours").fill("0");
  await page
    .getByText("all old secrets are revoked at once. Your server rejects requests until it has the new one")
    .waitFor();
  await page.getByLabel("Revoke every old secret now").check();
  await page.getByRole("button", { name: "Rotate", exact: true }).click();
  await page.getByText("The old secrets are revoked: your server rejects requests until it has this one.").waitFor();
  await page.getByRole("dialog", { name: "New secret" }).getByRole("button", { name: "Done" }).click();
  await page.getByRole("button", { name: "Send again" }).click();
  const revoked = await arrived(4);
  expect([isSignedWith(secret, revoked), isSignedWith(newSecret, revoked)]).toEqual([false, false]);

  const shown = page.getByRole("region", { name: "Secret" }).getByText(/^whsec_/);
  const former = (await shown.textContent()) ?? "";
  const { release } = await hold(page, "**/secret/rotate");
  await page.getByRole("button", { name: "Rotate secret…" }).click();
  await page.getByRole("button", { name: "Rotate", exact: true }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  release();
  await until("the new secret shows all the same", async () => (await shown.textContent()) !== former);

  const stranger = await newPerson();
  const { page: other } = await visit({ session: stranger.session, allow: /status of 404/, at: page.url() });
  await other.getByRole("heading", { name: "Endpoint not found" }).waitFor();
  await other.getByRole("link", { name: "Go to endpoints", exact: true }).click();
  await other.getByRole("heading", { name: "No endpoints yet" }).waitFor();
});

test("deliveries by status → a list that is read stays still while newer ones wait; missed ones are recovered", async () => {
  const { session, keyframe } = await newPerson();
  const { webhookId } = await keyframe.webhooks.create({ url: receiver.url, description: "The archive" });
  const project = (title: string) => keyframe.projects.create({ title, textPrompt: "A harbour at dawn" });
  await project("The first");
  // On a phone there is least room for a button more.
  const { page } = await visit({ session, isPhone: true, at: `/#/webhooks/${webhookId}` });
  const list = page.getByRole("region", { name: "Deliveries" });
  const rows = list.getByRole("heading", { level: 3 });
  await list.getByRole("button", { name: /Delivered.*project\.created/s }).waitFor();

  const filter = (name: string) => list.getByText(name, { exact: true }).first().click();
  await filter("Failed");
  await list.getByText("No failed deliveries").waitFor();
  await filter("Delivered");
  await list.getByRole("button", { name: /Delivered.*project\.created/s }).click();
  const facts = list.getByText("webhook-id", { exact: true });
  await facts.waitFor();
  const place = async () => {
    const [panel, inside] = [await list.boundingBox(), await facts.boundingBox()];
    return (inside?.y ?? Number.NaN) - (panel?.y ?? Number.NaN);
  };
  const before = await place();

  await page.getByRole("button", { name: "Send test" }).click();
  const testing = page.getByRole("dialog", { name: "Test event" });
  await testing.getByText("Delivered.").waitFor();
  await testing.getByRole("button", { name: "Done" }).click();
  const newer = list.getByRole("button", { name: "Show 1 new" });
  await newer.waitFor();
  expect(await place()).toBeCloseTo(before);
  expect(await rows.count()).toBe(1);
  await expectGoodLooks(page);
  await newer.click();
  await list.getByRole("button", { name: /Delivered.*webhook\.test/s }).waitFor();
  expect(await rows.count()).toBe(2);
  await untilFocused(rows.first());

  await list.getByRole("button", { name: "Recover deliveries…" }).click();
  const recovering = page.getByRole("dialog", { name: "Recover deliveries" });
  const proposed = await recovering.getByLabel("Since").inputValue();
  expect(Date.parse(proposed)).toBeLessThan(Date.now() - 86_300_000);
  await recovering.getByRole("button", { name: "Recover", exact: true }).click();
  await recovering.getByText("Nothing to recover since then.").waitFor();
  await expectGoodLooks(page);
  await recovering.getByRole("button", { name: "Close" }).last().click();

  await keyframe.webhooks.change(webhookId, { enabled: false });
  await project("The missed one");
  await keyframe.webhooks.change(webhookId, { enabled: true });
  await list.getByRole("button", { name: "Recover deliveries…" }).click();
  await recovering.getByLabel("Since").fill("2026-01-01T00:00");
  await recovering.getByRole("button", { name: "Recover", exact: true }).click();
  await recovering.getByText("Sending 1 delivery again.").waitFor();
  await recovering.getByRole("button", { name: "Close" }).last().click();
  const events = () =>
    receiver.arrivals.map(({ body }) => JSON.parse(body)).filter(({ data }) => data.title === "The missed one");
  await until("what was missed arrives", () => events().length === 1);
});

test("an open page of deliveries → follows what happens; a delivery shows its project, body and headers, and is sent again", async () => {
  const later = answers(503, { "retry-after": "3600" }); // the next attempt is an hour away
  const repaired = await startFlowReceiver(later);
  onTestFinished(() => repaired.close());
  const { session, keyframe } = await newPerson();
  const { webhookId } = await keyframe.webhooks.create({ url: repaired.url, description: "Repaired" });
  const { page } = await visit({ session, at: `/#/webhooks/${webhookId}` });
  await page.getByText("No deliveries yet").first().waitFor();
  await keyframe.projects.create({ title: "Harbour", textPrompt: "A harbour at dawn" });
  const list = page.getByRole("region", { name: "Deliveries" });
  const row = list.getByRole("button", { name: /project\.created.*Harbour/s });
  await row.getByText("Retrying").waitFor();
  const health = page.getByRole("region", { name: "Last 24 hours" });
  await health.getByText("Failing").waitFor();

  await list.getByText("Pending", { exact: true }).first().click();
  await row.click();
  repaired.behave(answers(204));
  await list.getByRole("button", { name: "Send again" }).click();
  await row.getByText("Delivered").waitFor(); // though the list is of what is pending
  await health.getByText("Healthy").waitFor();
  const sent = repaired.arrivals.at(-1);
  await list.getByText("Request headers").last().click();
  const shown = (await list.locator("details pre").last().textContent()) ?? "";
  const { deliveries } = await keyframe.webhooks.deliveries(webhookId);
  for (const [name, value] of Object.entries(deliveries[0]?.attemptLog.at(-1)?.requestHeaders ?? {})) {
    expect([name, sent?.headers[name]]).toEqual([name, value]);
    expect(shown).toContain(`${name}: ${value}`);
  }
  expect(shown).not.toContain(sent?.headers["webhook-signature"] ?? "v1,");
  await list.getByText(sent?.body ?? "", { exact: true }).waitFor();
  expect(deliveries[0]?.body).toBe(sent?.body);
  await expectGoodLooks(page);

  await list.getByLabel("Filter by event").selectOption("webhook.test");
  await list.getByText("Only deliveries of webhook.test are shown.").waitFor();

  repaired.behave(later);
  await page.getByRole("button", { name: "Send test" }).click();
  const testing = page.getByRole("dialog", { name: "Test event" });
  await testing.getByText("Not delivered.").waitFor();
  await testing.getByText("It is retried automatically; the next attempt is").waitFor();
  await testing.getByText("Your server asked to retry later. Keyframe follows its Retry-After.").waitFor();
});

test("an endpoint is deleted → it leaves the list; one that another tab deleted first does, too", async () => {
  const { session, keyframe } = await newPerson();
  const create = (description: string) =>
    keyframe.webhooks.create({ url: receiver.url, description, eventTypes: ["generation.failed"] });
  const kept = await create("Kept");
  const { page } = await visit({ session, allow: /status of 404/ });
  for (const isElsewhere of [false, true]) {
    const { webhookId } = await create("Doomed");
    await page.goto(`/#/webhooks/${webhookId}`);
    await page.getByRole("button", { name: "Delete…" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete endpoint?" });
    const cost = "receives no more events, and its pending deliveries are dropped. This cannot be undone.";
    await dialog.getByText(`${receiver.url} ${cost}`).waitFor();
    if (isElsewhere) await keyframe.webhooks.delete(webhookId);
    await dialog.getByRole("button", { name: "Delete endpoint" }).click();
    await page.getByRole("link", { name: "Kept" }).waitFor();
    await page.getByRole("link", { name: "Doomed" }).waitFor({ state: "detached" });
    expect((await keyframe.webhooks.list()).webhooks.map((webhook) => webhook.webhookId)).toEqual([kept.webhookId]);
  }
});

import { afterAll, beforeAll, expect, test } from "vitest";
import { visitDashboard } from "../support/dashboard-browser.ts";
import { newPerson } from "../support/dashboard-person.ts";
import { type FlowReceiver, startFlowReceiver } from "../support/flow-receiver.ts";
import { answers } from "../support/flow-receiver-habits.ts";
import { isSignedWith, readSigned, signatures } from "../support/flow-receiver-signed.ts";
import { until } from "../support/until.ts";

const visit = visitDashboard();
let receiver: FlowReceiver;

beforeAll(async () => {
  receiver = await startFlowReceiver(answers(204));
});
afterAll(() => receiver?.close());

const arrived = (count: number) => until(`${count} requests`, () => receiver.arrivals[count - 1]);

test("endpoint → test received and verified → rotated → sent again with both signatures; another person sees none of it", async () => {
  const { session } = await newPerson();
  const { page } = await visit({ session });
  await page.goto("/#/webhooks");
  await page.getByRole("button", { name: "Add endpoint" }).click();
  const adding = page.getByRole("dialog");
  await adding.getByLabel("Address").fill("ftp://nowhere");
  await adding.getByRole("button", { name: "Add endpoint" }).click();
  await until("the address is refused in words", () => adding.getByLabel("Address").getAttribute("aria-invalid"));
  await adding.getByLabel("Address").fill(receiver.url);
  await adding.getByLabel("Description").fill("The edit suite");
  await adding.getByRole("button", { name: "Add endpoint" }).click();
  await page.getByRole("dialog", { name: "The endpoint is there" }).waitFor();
  const secret = (await page.getByText(/^whsec_/).textContent()) ?? "";

  await page.getByRole("button", { name: "Send test" }).click();
  const testing = page.getByRole("dialog", { name: "Test event" });
  await testing.getByText("It arrived.").waitFor();
  const event = readSigned(secret, await arrived(1));
  expect(event.type).toBe("webhook.test");
  await testing.getByRole("button", { name: "Done" }).click();
  await page.getByRole("link", { name: "To the endpoint" }).click();
  await page.getByRole("heading", { level: 1, name: "The edit suite" }).waitFor();

  await page.getByRole("button", { name: "Rotate…" }).click();
  await page.getByLabel("Overlap in hours").fill("2");
  await page.getByRole("button", { name: "Rotate", exact: true }).click();
  const rotated = page.getByRole("dialog", { name: "The new secret" });
  const newSecret = (await rotated.getByText(/^whsec_/).textContent()) ?? "";
  expect(newSecret).not.toBe(secret);
  await rotated.getByRole("button", { name: "Done" }).click();

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

  const address = page.url();
  const stranger = await newPerson();
  const { page: other, watch } = await visit({ session: stranger.session });
  watch.allow(/status of 404/);
  await other.goto(address);
  await other.getByRole("heading", { name: "There is no such endpoint" }).waitFor();
  await other.getByRole("link", { name: "To the endpoints", exact: true }).click();
  await other.getByRole("heading", { name: "Nobody is told yet" }).waitFor();
});

import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { signUp, type User } from "../support/api/user.ts";
import { dataOf } from "../support/api/envelope.ts";
import { asProject, exactWebhook, register, serviceWide } from "../support/api/webhooks.ts";

const project = asProject();
const registerServiceWide = serviceWide();
let user: User;
beforeAll(async () => {
  user = await signUp();
});

const listed = (data: unknown) => z.object({ webhooks: z.array(exactWebhook) }).parse(data).webhooks;

test("POST with the secret key → a service-wide endpoint, which its list shows and no user's does", async () => {
  const { webhookId, serviceWide: wide } = await registerServiceWide();
  const own = await register(user);
  expect(wide).toBe(true);
  const ofProject = listed(dataOf(await project.call("/api/webhooks"), 200));
  expect(ofProject.map((one) => one.webhookId)).toContain(webhookId);
  expect(ofProject.every((one) => one.serviceWide)).toBe(true);
  const ofUser = listed(dataOf(await user.call("/api/webhooks"), 200));
  expect(ofUser.map((one) => one.webhookId)).toEqual([own.webhookId]);
});

test("twenty is the limit of an owner, not of the project", async () => {
  for (let count = 0; count < 21; count++) await registerServiceWide({ enabled: false });
});

test("a user reads nothing of it by the Data API either", async () => {
  const { webhookId } = await registerServiceWide();
  await project.post(`/api/webhooks/${webhookId}/test`, {});
  for (const table of ["webhook_endpoints", "webhook_deliveries", "webhook_events"]) {
    expect([table, (await user.supabase.from(table).select("*").is("owner_id", null)).data]).toEqual([table, []]);
  }
});

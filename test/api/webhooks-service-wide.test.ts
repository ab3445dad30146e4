import { createClient } from "@supabase/supabase-js";
import { beforeAll, expect, inject, test } from "vitest";
import { z } from "zod";
import { callApi } from "../support/api/call.ts";
import { openDatabase } from "../support/api/database.ts";
import { signUp, type User } from "../support/api/user.ts";
import { dataOf } from "../support/api/envelope.ts";
import { asProject, exactCreated, exactWebhook, register, SILENT, serviceWide } from "../support/api/webhooks.ts";

const sql = openDatabase();
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

test("a client of supabase-js with the secret key → lists them, as an administrator's script does", async () => {
  const { webhookId } = await registerServiceWide();
  const { url, secretKey } = inject("stack");
  const client = createClient(url, secretKey, {
    db: { schema: "keyframe" },
    auth: { persistSession: false, autoRefreshToken: false },
  });
  const { data, error } = await client.functions.invoke("api/webhooks", { method: "GET" }); // as a Bearer token too
  expect(error).toBeNull();
  expect(listed((data as { data: unknown }).data).map((one) => one.webhookId)).toContain(webhookId); // listed() checks it
});

test.each<[string, () => Record<string, string>]>([
  ["a guessed key", () => ({ apikey: "sb_secret_0000000000000000000000_00000000" })],
  ["a guessed key beside a good session", () => ({ apikey: "sb_secret_guess", authorization: `Bearer ${user.token}` })],
  ["the publishable key", () => ({ apikey: inject("stack").publishableKey })],
  [
    "the right key beside a broken session",
    () => ({ apikey: inject("stack").secretKey, authorization: "Bearer a.b.c" }),
  ],
])("%s → 401, and no endpoint is made", async (_what, headers) => {
  const description = crypto.randomUUID();
  const { status, error } = await callApi("/api/webhooks", { json: { url: SILENT, description }, headers: headers() });
  expect([status, error?.code]).toEqual([401, "unauthorized"]);
  expect(await sql`select 1 from keyframe.webhook_endpoints where description = ${description}`).toEqual([]);
});

test("the right key beside a good session → the user's own endpoint: the session says who calls", async () => {
  const headers = { apikey: inject("stack").secretKey };
  const reply = await user.post("/api/webhooks", { url: SILENT }, headers);
  expect(exactCreated.parse(dataOf(reply, 201)).serviceWide).toBe(false);
});

test("a user reads nothing of it by the Data API either", async () => {
  const { webhookId } = await registerServiceWide();
  await project.post(`/api/webhooks/${webhookId}/test`, {});
  for (const table of ["webhook_endpoints", "webhook_deliveries", "webhook_events"]) {
    expect([table, (await user.supabase.from(table).select("*").is("owner_id", null)).data]).toEqual([table, []]);
  }
});

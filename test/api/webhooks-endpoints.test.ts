import { expect, test } from "vitest";
import { webhook, webhookList } from "../../shared/contract/webhooks.ts";
import { openDatabase } from "../support/api/database.ts";
import { signUp, useUser } from "../support/api/user.ts";
import { dataOf } from "../support/api/envelope.ts";
import { asProject, register, revealSecret, type Manager, serviceWide, SILENT } from "../support/api/webhooks.ts";

const sql = openDatabase();
const project = asProject();
const registerServiceWide = serviceWide();
const user = useUser();

const read = async (id: string) => webhook.parse(dataOf(await user.call(`/api/webhooks/${id}`), 200));
const change = async (id: string, json: unknown) =>
  webhook.parse(dataOf(await user.call(`/api/webhooks/${id}`, { method: "PATCH", json }), 200));
const list = async (by: Manager) => webhookList.parse(dataOf(await by.call("/api/webhooks"), 200)).webhooks;

test("POST of an endpoint with only a URL → 201: enabled, for all events, the caller's own, with a secret of 32 bytes", async () => {
  const { secret, ...created } = await register(user);
  expect(created).toMatchObject({
    url: SILENT,
    description: "",
    eventTypes: [],
    enabled: true,
    disabledAt: null,
    disabledReason: null,
    maxInFlight: 8,
    failingSince: null,
    serviceWide: false,
  });
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  // No answer after this one has the secret: openapi.json knows no such field.
  expect(await read(created.webhookId)).toEqual(created);
});

test("an endpoint with each field set → POST, PATCH and GET show it; PATCH leaves the rest", async () => {
  const fields = { url: `${SILENT}/crm`, description: "CRM", eventTypes: ["generation.failed"], enabled: false };
  const { secret: _secret, ...created } = await register(user, { ...fields, maxInFlight: 3 });
  expect(created).toMatchObject({ ...fields, maxInFlight: 3 });
  const others = { url: `${SILENT}/deals`, description: "Deals", eventTypes: ["project.created"], enabled: true };
  const twice = { eventTypes: ["project.created", "project.created"] }; // counts once
  const changed = await change(created.webhookId, { ...others, ...twice, maxInFlight: 5 });
  expect(changed).toMatchObject({ ...others, maxInFlight: 5 });
  expect(changed.updatedAt > created.updatedAt).toBe(true);
  const emptied = await change(created.webhookId, { eventTypes: [], description: "" });
  expect(emptied).toEqual({ ...changed, eventTypes: [], description: "", updatedAt: emptied.updatedAt });
  expect(await read(created.webhookId)).toEqual(emptied);
});

test("GET of an endpoint's secret → as POST gave it; after a rotation the new one; never to be cached", async () => {
  const { webhookId, secret } = await register(user);
  const path = `/api/webhooks/${webhookId}/secret`;
  expect(await revealSecret(user, webhookId)).toBe(secret);
  await user.call(`${path}/rotate`, { method: "POST" });
  const rotated = await user.post(`${path}/rotate`, { overlapHours: 0 });
  const read = await user.call(path);
  for (const { headers } of [rotated, read]) expect(headers.get("cache-control")).toBe("no-store");
  const next = await revealSecret(user, webhookId);
  expect(next).not.toBe(secret);
  const [row] = await sql`select keyframe_private.webhook_secrets_of(${webhookId}, now()) as secrets`;
  expect(row?.secrets).toEqual([next]);
});

test("POST of an endpoint with the secret key → service-wide, in that list only; a user's own list is newest first", async () => {
  const one = await signUp();
  const { webhookId, serviceWide: wide } = await registerServiceWide();
  const own = await register(one);
  expect(wide).toBe(true);
  const ofProject = await list(project);
  expect(ofProject.map((each) => each.webhookId)).toContain(webhookId);
  expect(ofProject.every((each) => each.serviceWide)).toBe(true);
  const newer = await register(one, { enabled: false });
  expect((await list(one)).map((each) => each.webhookId)).toEqual([newer.webhookId, own.webhookId]);
});

test("a user reads the service-wide endpoint by the Data API → no row of it", async () => {
  const { webhookId } = await registerServiceWide();
  await project.post(`/api/webhooks/${webhookId}/test`, {});
  for (const table of ["webhook_endpoints", "webhook_deliveries", "webhook_events"]) {
    expect([table, (await user.supabase.from(table).select("*").is("owner_id", null)).data]).toEqual([table, []]);
  }
});

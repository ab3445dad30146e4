import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import type { Row } from "../support/database/predictions.ts";
import { codeOf, refusalOf } from "../support/database/refusal.ts";
import { liftRateLimits } from "../support/database/user.ts";
import { untilSomebodyWaits } from "../support/database/waiting.ts";
import { addEndpoint, type Caller, call, clearWebhooks, readEndpoint } from "../support/database/webhooks.ts";

const db = useDatabase();
let owner: string;
beforeAll(async () => {
  await liftRateLimits(db);
  owner = await db.addUser();
});
beforeEach(() => clearWebhooks(db.sql));

const URL = "https://receiver.example/hook";
type Created = { endpoint: Row & { id: string }; secret: string; replayed: boolean; rate: Row | null };
type Args = Parameters<typeof call>[3];
const create = (args: Args = {}, caller: Caller = owner) =>
  call<Created>(db, caller, "create_webhook_endpoint", { url: URL, ...args });
const update = async (endpoint_id: string, args: Args) =>
  (await call<{ endpoint: Row }>(db, owner, "update_webhook_endpoint", { endpoint_id, ...args })).endpoint;
const countOf = async (whose: string | null) =>
  (await db.sql`select from keyframe.webhook_endpoints where owner_id is not distinct from ${whose}`).count;

describe("create_webhook_endpoint", () => {
  test("with an address alone → the caller's, enabled, for every event, with its secret", async () => {
    const { endpoint, secret, replayed, rate } = await create();
    expect(endpoint).toMatchObject({
      owner_id: owner,
      url: URL,
      description: "",
      event_types: [],
      enabled: true,
      max_in_flight: 8,
      disabled_at: null,
      disabled_reason: null,
      failing_since: null,
    });
    expect(secret).toMatch(/^whsec_/);
    expect(replayed).toBe(false);
    expect(rate).toMatchObject({ policy: "create" });
  });

  test("with all fields, disabled → as asked for, off by its owner's wish", async () => {
    const { endpoint } = await create({ description: "CRM", event_types: ["generation.failed"], enabled: false });
    expect(endpoint).toMatchObject({
      description: "CRM",
      event_types: ["generation.failed"],
      enabled: false,
      disabled_reason: "by_owner",
      disabled_at: expect.any(String),
    });
  });

  test("with the secret key → service-wide", async () => {
    const { endpoint, secret } = await create({}, "service_role");
    expect(endpoint.owner_id).toBe(null);
    expect(secret).toMatch(/^whsec_/);
  });

  test("the same Idempotency-Key and body again → the same endpoint and secret, no second one", async () => {
    const key = { idempotency_key: "once", request_hash: "a".repeat(64) };
    const first = await create(key);
    const again = await create(key);
    expect([again.endpoint.id, again.secret, again.replayed]).toEqual([first.endpoint.id, first.secret, true]);
    expect(await countOf(owner)).toBe(1);
    expect(await codeOf(create({ ...key, request_hash: "b".repeat(64) }))).toBe("idempotency_mismatch");
  });

  test("an address that is none, an unknown event type, a description too long → refused by the rule's name", async () => {
    const rule = async (args: Args) => (await refusalOf(create(args))).constraint;
    for (const url of [
      "",
      "receiver.example",
      "ftp://receiver.example",
      "https://",
      "https://user:pass@receiver.example",
      "https://receiver.example/#top",
      "https://receiver.example/a b",
      "javascript:alert(1)",
      `https://receiver.example/${"x".repeat(2048)}`,
    ]) {
      expect([url, await rule({ url })]).toEqual([url, "url_is_https_or_local_http"]);
    }
    expect(await rule({ event_types: ["project.created", "project.*"] })).toBe("event_types_are_known");
    expect(await rule({ event_types: [""] })).toBe("event_types_are_known");
    expect(await rule({ description: "x".repeat(501) })).toBe("description_has_at_most_500_characters");
    expect(await countOf(owner)).toBe(0);
  });

  test("each of the known event types → may be listed", async () => {
    const event_types = ["project.created", "generation.succeeded", "generation.failed", "webhook.test"];
    expect((await create({ event_types })).endpoint.event_types).toEqual(event_types);
  });
});

describe("20 endpoints of one owner are enough", () => {
  test("the 21st → invalid_request; another owner's and service-wide ones → not counted", async () => {
    for (let i = 0; i < 20; i++) await create();
    expect(await codeOf(create())).toBe("invalid_request");
    expect(await codeOf(addEndpoint(db.sql, owner))).toBe("invalid_request");
    await create({}, await db.addUser());
    for (let i = 0; i < 21; i++) await addEndpoint(db.sql, null);
    expect([await countOf(owner), await countOf(null)]).toEqual([20, 21]);
  });

  test("30 at once → exactly 20", async () => {
    const answers = await Promise.allSettled(Array.from({ length: 30 }, () => create()));
    expect(answers.filter(({ status }) => status === "fulfilled").length).toBe(20);
    expect(await countOf(owner)).toBe(20);
  });

  test("the 21st by hand, while the 20th is not committed yet → waits for it, then invalid_request", async () => {
    for (let i = 0; i < 19; i++) await addEndpoint(db.sql, owner);
    const oneMore = await db.sql.begin(async (sql) => {
      await addEndpoint(sql, owner);
      const outcome = addEndpoint(db.sql, owner).then(
        () => "went in",
        (error) => codeOf(Promise.reject(error)),
      );
      await Promise.race([outcome, untilSomebodyWaits(db.sql)]);
      return { outcome };
    });
    expect(await oneMore.outcome).toBe("invalid_request");
    expect(await countOf(owner)).toBe(20);
  });

  test("30 in one insert → refused as a whole", async () => {
    const rows = Array.from({ length: 30 }, () => ({ owner_id: owner, url: URL }));
    expect(await codeOf(db.sql`insert into keyframe.webhook_endpoints ${db.sql(rows)}`)).toBe("invalid_request");
    expect(await countOf(owner)).toBe(0);
  });

  test("one deleted → there is room for one more", async () => {
    const { endpoint } = await create();
    for (let i = 0; i < 19; i++) await create();
    await call(db, owner, "delete_webhook_endpoint", { endpoint_id: endpoint.id });
    await create();
    expect(await codeOf(create())).toBe("invalid_request");
  });
});

describe("update_webhook_endpoint", () => {
  test("what is given → changed; what is not → stays", async () => {
    const id = await addEndpoint(db.sql, owner, { description: "CRM", event_types: ["generation.failed"] });
    const before = await readEndpoint(db.sql, id);
    expect(await update(id, { url: "https://elsewhere.example" })).toMatchObject({
      url: "https://elsewhere.example",
      description: "CRM",
      event_types: ["generation.failed"],
      enabled: true,
    });
    expect(await update(id, { description: "", event_types: [] })).toMatchObject({
      url: "https://elsewhere.example",
      description: "",
      event_types: [],
    });
    const after = await readEndpoint(db.sql, id);
    expect((after.updated_at as Date) >= (before.updated_at as Date)).toBe(true); // timestamptz columns are read as dates
    expect(after).toMatchObject({ owner_id: owner, created_at: before.created_at });
  });

  test("max_in_flight of 1 to 8 → taken; more or less → refused, and nothing changes; another change keeps what an administrator set", async () => {
    const id = await addEndpoint(db.sql, owner, { max_in_flight: 100 });
    expect(await update(id, { description: "CRM" })).toMatchObject({ max_in_flight: 100 });
    expect(await update(id, { max_in_flight: 1 })).toMatchObject({ max_in_flight: 1, description: "CRM" });
    for (const max_in_flight of [0, 9, -1]) {
      expect(await codeOf(update(id, { max_in_flight }))).toBe("invalid_request");
      expect(await codeOf(create({ max_in_flight }))).toBe("invalid_request");
    }
    expect(await readEndpoint(db.sql, id)).toMatchObject({ max_in_flight: 1 });
  });

  test("disabled → by_owner, with the time; a second time → the first time stays", async () => {
    const id = await addEndpoint(db.sql, owner);
    const { disabled_at } = await update(id, { enabled: false });
    expect(disabled_at).toEqual(expect.any(String));
    expect(await update(id, { enabled: false })).toMatchObject({
      enabled: false,
      disabled_at,
      disabled_reason: "by_owner",
    });
  });

  test("enabled again → no reason is left", async () => {
    const id = await addEndpoint(db.sql, owner, { enabled: false, disabled_reason: "failing" });
    expect(await update(id, { enabled: true })).toMatchObject({
      enabled: true,
      disabled_at: null,
      disabled_reason: null,
    });
  });

  test("enabled while it is → its failures still count", async () => {
    const id = await addEndpoint(db.sql, owner, { failing_since: new Date(0) });
    expect((await update(id, { enabled: true })).failing_since).not.toBe(null);
  });

  test("an address that is none, an unknown event type → refused, nothing changed", async () => {
    const id = await addEndpoint(db.sql, owner);
    expect((await refusalOf(update(id, { url: "http//x" }))).constraint).toBe("url_is_https_or_local_http");
    expect((await refusalOf(update(id, { event_types: ["nothing"] }))).constraint).toBe("event_types_are_known");
    expect(await readEndpoint(db.sql, id)).toMatchObject({ url: URL, event_types: [] });
  });
});

test("delete_webhook_endpoint → the endpoint goes with its deliveries; the events stay for others", async () => {
  const id = await addEndpoint(db.sql, owner);
  await addEndpoint(db.sql, null);
  await db.sql`insert into keyframe.projects (owner_id, title, text_prompt) values (${owner}, 't', 'p')`;
  const { endpoint } = await call<{ endpoint: Row }>(db, owner, "delete_webhook_endpoint", { endpoint_id: id });
  expect(endpoint.id).toBe(id);
  await db.sql`select keyframe_private.prune_webhooks()`;
  const [row] = await db.sql`
    select (select count(*)::int from keyframe.webhook_deliveries) as deliveries, (select count(*)::int from keyframe.webhook_events) as events`;
  expect(row).toEqual({ deliveries: 1, events: 1 });
});

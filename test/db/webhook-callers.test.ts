import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { codeOf, refusalOf } from "../support/database/refusal.ts";
import { addEndpoint, type Caller, call, clearWebhooks, seedDeliveries } from "../support/database/webhooks.ts";

// Who may do what with whose endpoint: a user with their own, the secret key with the service-wide ones, nobody with another's.

type Args = Record<string, string | number | boolean | Date>;
/** Each function that names an endpoint or a delivery, with the arguments it needs. */
const FUNCTIONS: Record<string, (endpoint: string, delivery: string) => Args> = {
  read_webhook_endpoint: (endpoint_id) => ({ endpoint_id }),
  update_webhook_endpoint: (endpoint_id) => ({ endpoint_id, description: "changed" }),
  delete_webhook_endpoint: (endpoint_id) => ({ endpoint_id }),
  reveal_webhook_secret: (endpoint_id) => ({ endpoint_id }),
  rotate_webhook_secret: (endpoint_id) => ({ endpoint_id, overlap_hours: 0 }),
  test_webhook_endpoint: (endpoint_id) => ({ endpoint_id }),
  list_webhook_deliveries: (endpoint_id) => ({ endpoint_id }),
  redeliver_webhook: (_endpoint, delivery_id) => ({ delivery_id }),
  recover_webhook_endpoint: (endpoint_id) => ({ endpoint_id, since: new Date(0) }),
};

const db = useDatabase();
let owner: string;
let other: string;
beforeAll(async () => {
  owner = await db.addUser();
  other = await db.addUser();
});
beforeEach(() => clearWebhooks(db.sql));

const addFor = async (whose: string | null) => {
  const endpoint = await addEndpoint(db.sql, whose);
  const [delivery = ""] = await seedDeliveries(db.sql, endpoint, 1);
  return { endpoint, delivery };
};

/** All that a call could have changed. */
const everything = async () => {
  const [row] = await db.sql`
    select (select jsonb_agg(to_jsonb(e) order by e.id) from keyframe.webhook_endpoints e) as endpoints,
      (select jsonb_agg(to_jsonb(d) order by d.id) from keyframe.webhook_deliveries d) as deliveries,
      (select jsonb_agg(to_jsonb(s) order by s.id) from keyframe_private.webhook_secrets s) as secrets,
      (select count(*) from keyframe.webhook_events) as events`;
  return row;
};

/** Whose endpoint is out of whose reach; functions, because the users are made later. */
const FOREIGN: [name: string, caller: () => Caller, whose: () => string | null][] = [
  ["another user's", () => other, () => owner],
  ["a service-wide one, by a user", () => owner, () => null],
  ["a user's, with the secret key", () => "service_role", () => owner],
];

describe.each(Object.entries(FUNCTIONS))("%s", (name, argsOf) => {
  const attempt = (caller: Caller, { endpoint, delivery }: { endpoint: string; delivery: string }) =>
    call<object>(db, caller, name, argsOf(endpoint, delivery));

  test("of the caller endpoint → goes through", async () => {
    expect(await attempt(owner, await addFor(owner))).toEqual(expect.any(Object));
  });

  test("of a service-wide endpoint with the secret key → goes through", async () => {
    expect(await attempt("service_role", await addFor(null))).toEqual(expect.any(Object));
  });

  test.each(FOREIGN)(
    "of %s → not_found, as for one that does not exist, and nothing changes",
    async (_name, caller, whose) => {
      const theirs = await addFor(whose());
      const before = await everything();
      const refusal = await refusalOf(attempt(caller(), theirs));
      expect([refusal.sqlstate, refusal.message]).toEqual(["KEYFR", "not_found"]);
      expect(refusal).toEqual(
        await refusalOf(attempt(caller(), { endpoint: crypto.randomUUID(), delivery: crypto.randomUUID() })),
      );
      expect(await everything()).toEqual(before);
    },
  );

  test("without signing in → refused before anything is looked at", async () => {
    const { sqlstate, message } = await refusalOf(attempt("anon", await addFor(null)));
    expect([sqlstate, message]).toEqual(["42501", `permission denied for function ${name}`]);
  });
});

test.each(["create_webhook_endpoint", "list_webhook_endpoints"])("%s without signing in → refused", async (name) => {
  const args = name.startsWith("create") ? { url: "https://receiver.example" } : {};
  expect((await refusalOf(call(db, "anon", name, args))).sqlstate).toBe("42501");
});

test("a session token without a user → manages nothing, the service-wide endpoints least of all", async () => {
  const { endpoint } = await addFor(null);
  const nobody = (statement: string) => db.as({ role: "authenticated" }, (sql) => sql.unsafe(statement));
  expect(await codeOf(nobody(`select keyframe.reveal_webhook_secret('${endpoint}')`))).toBe("not_found");
  const [row] = await nobody("select keyframe.list_webhook_endpoints() as answer");
  expect(row?.answer).toEqual({ endpoints: [], rate: null });
  const [read] = await nobody("select count(*)::int as seen from keyframe.webhook_deliveries");
  expect(read?.seen).toBe(0);
});

describe("list_webhook_endpoints", () => {
  const listed = async (caller: Caller) =>
    (await call<{ endpoints: { id: string }[] }>(db, caller, "list_webhook_endpoints")).endpoints.map(({ id }) => id);

  test("→ a user's own, newest first; with the secret key the service-wide ones", async () => {
    const at = (second: number) => ({ created_at: new Date(Date.UTC(2026, 0, 1, 0, 0, second)) });
    const first = await addEndpoint(db.sql, owner, at(1));
    const second = await addEndpoint(db.sql, owner, at(2));
    const wide = await addEndpoint(db.sql, null);
    const theirs = await addEndpoint(db.sql, other);
    expect(await listed(owner)).toEqual([second, first]);
    expect(await listed(other)).toEqual([theirs]);
    expect(await listed("service_role")).toEqual([wide]);
  });

  test("nothing there → an empty list", async () => {
    expect(await listed(owner)).toEqual([]);
  });
});

import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { codeOf, refusalOf } from "../support/database/refusal.ts";
import { addEndpoint, call, clearWebhooks, exchange, seedDeliveries } from "../support/database/webhooks.ts";

const db = useDatabase();
let owner: string;
let endpoint: string;
beforeAll(async () => {
  owner = await db.addUser();
  await db.sql`select vault.create_secret('whsec_stays', 'keyframe_kick_secret')`;
});
beforeEach(async () => {
  await clearWebhooks(db.sql);
  endpoint = await addEndpoint(db.sql, owner);
});

const hoursFromNow = (hours: number) => new Date(Date.now() + hours * 3_600_000);

/** What signs for an endpoint at a moment, newest first. */
async function secretsOf(id: string, at = new Date()): Promise<string[]> {
  const [row] = await db.sql<
    { secrets: string[] }[]
  >`select keyframe_private.webhook_secrets_of(${id}, ${at}) as secrets`;
  return row?.secrets ?? [];
}
const rotate = async (hours?: number) =>
  (
    await call<{ secret: string }>(db, owner, "rotate_webhook_secret", {
      endpoint_id: endpoint,
      ...(hours === undefined ? {} : { overlap_hours: hours }),
    })
  ).secret;
const reveal = async () =>
  (await call<{ secret: string }>(db, owner, "reveal_webhook_secret", { endpoint_id: endpoint })).secret;
const vaulted = async () =>
  (
    await db.sql<{ secret: string }[]>`
    select decrypted_secret as secret from vault.decrypted_secrets where name like 'keyframe_webhook_%'`
  )
    .map(({ secret }) => secret)
    .sort();

describe("a new endpoint", () => {
  test("inserted by hand → has one secret: whsec_ and the base64 of 32 bytes", async () => {
    const secrets = await secretsOf(endpoint);
    expect(secrets.length).toBe(1);
    expect(secrets[0]).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(atob((secrets[0] ?? "").slice("whsec_".length)).length).toBe(32);
    expect(await reveal()).toBe(secrets[0]);
  });

  test("created through the API → its secret is in the answer, and the one that signs", async () => {
    const { endpoint: created, secret } = await call<{ endpoint: { id: string }; secret: string }>(
      db,
      owner,
      "create_webhook_endpoint",
      { url: "https://receiver.example" },
    );
    expect(await secretsOf(created.id)).toEqual([secret]);
  });

  test("twenty of them → twenty different secrets", async () => {
    for (let i = 0; i < 19; i++) await addEndpoint(db.sql, null);
    expect(new Set(await vaulted()).size).toBe(20);
  });

  test("that is rolled back → leaves nothing in the Vault", async () => {
    const refused = db.sql.begin(async (sql) => {
      await addEndpoint(sql, null);
      await sql`select 1 / 0`;
    });
    expect((await refusalOf(refused)).sqlstate).toBe("22012");
    expect((await vaulted()).length).toBe(1);
  });
});

test("a secret → lies in no table as text, not even in the Vault's own, nor in a queue", async () => {
  const old = await reveal();
  const secret = await rotate(24);
  await seedDeliveries(db.sql, endpoint, 1);
  await call(db, owner, "test_webhook_endpoint", { endpoint_id: endpoint });
  const tables = await db.sql<{ name: string }[]>`
    select oid::regclass::text as name from pg_class
    where relkind = 'r' and relnamespace::regnamespace::text in ('keyframe', 'keyframe_worker', 'keyframe_private', 'net', 'cron', 'vault', 'auth', 'storage')`;
  expect(tables.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["vault.secrets", "keyframe_private.webhook_secrets", "net.http_request_queue"]),
  );
  for (const { name } of tables) {
    for (const text of [old, secret].map((whole) => whole.slice("whsec_".length, -1))) {
      const [row] = await db.sql.unsafe(
        `select count(*)::int as hits from ${name} t where strpos(t::text, '${text}') > 0`,
      );
      expect([name, row?.hits]).toEqual([name, 0]);
    }
  }
});

describe("a rotation", () => {
  test("with an overlap of 24 hours (the default) → the new one signs first, the old one beside it to the end of them", async () => {
    const old = await reveal();
    const fresh = await rotate();
    expect(fresh).not.toBe(old);
    expect(await reveal()).toBe(fresh);
    expect(await secretsOf(endpoint)).toEqual([fresh, old]);
    expect(await secretsOf(endpoint, hoursFromNow(23.99))).toEqual([fresh, old]);
    expect(await secretsOf(endpoint, hoursFromNow(24.01))).toEqual([fresh]);
  });

  test("→ a claim hands out what is live at its moment", async () => {
    const old = await reveal();
    await seedDeliveries(db.sql, endpoint, 3);
    const handedOut = async (at: Date) =>
      (await exchange(db.sql, { leaseSeconds: 0, at })).lanes.find(({ endpoint_id }) => endpoint_id === endpoint)
        ?.secrets;
    expect(await handedOut(new Date())).toEqual([old]);
    const fresh = await rotate(1);
    expect(await handedOut(hoursFromNow(0.9))).toEqual([fresh, old]);
    expect(await handedOut(hoursFromNow(1.1))).toEqual([fresh]);
  });

  test("twice → three sign, newest first; a third time → refused, and nothing changes", async () => {
    const first = await reveal();
    const second = await rotate(24);
    const third = await rotate(72);
    const three = [third, second, first];
    expect(await secretsOf(endpoint)).toEqual(three);
    expect(await codeOf(rotate(24))).toBe("invalid_request");
    expect(await secretsOf(endpoint)).toEqual(three);
    expect(await reveal()).toBe(third);
  });

  test("a third time after an overlap has ended → goes through, and what ended leaves the Vault", async () => {
    const first = await reveal();
    await rotate(24);
    await db.sql`update keyframe_private.webhook_secrets set expires_at = now() where expires_at is not null`;
    const [third, fourth] = [await rotate(24), await rotate(24)];
    expect((await secretsOf(endpoint)).slice(0, 2)).toEqual([fourth, third]);
    expect(await vaulted()).not.toContain(first);
    expect((await vaulted()).length).toBe(3);
  });

  test("with overlap 0 → every old one is gone at once, from the Vault too, also when three were live", async () => {
    await rotate(24);
    await rotate(24);
    const fresh = await rotate(0);
    expect(await secretsOf(endpoint)).toEqual([fresh]);
    expect(await vaulted()).toEqual([fresh]);
  });

  test.each([-1, 73, 1000])("with an overlap of %i hours → refused", async (hours) => {
    const before = await secretsOf(endpoint);
    expect(await codeOf(rotate(hours))).toBe("invalid_request");
    expect(await secretsOf(endpoint)).toEqual(before);
  });

  test("ten at once with an overlap → two go through, three live, one of them current", async () => {
    const answers = await Promise.allSettled(Array.from({ length: 10 }, () => rotate(24)));
    const fresh = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
    expect(fresh.length).toBe(2);
    expect(fresh).toContain(await reveal());
    expect((await secretsOf(endpoint)).length).toBe(3);
  });

  test("ten at once without an overlap → one live, the last one's", async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => rotate(0)));
    const live = await secretsOf(endpoint);
    expect(live.length).toBe(1);
    expect(answers).toContain(live[0]);
    expect(await vaulted()).toEqual(live);
  });

  test("whose transaction began before another's, and that came after it → its secret is the current one", async () => {
    const [mine, live] = await db.sql.begin(async (sql) => {
      await sql`select now()`;
      await rotate(24);
      await sql`select keyframe_private.rotate_webhook_secret(${endpoint}, interval '24 hours')`;
      const [row] = await sql<{ mine: string; live: string[] }[]>`
        select v.decrypted_secret as mine, keyframe_private.webhook_secrets_of(${endpoint}) as live
        from keyframe_private.webhook_secrets s join vault.decrypted_secrets v on v.id = s.vault_secret_id
        where s.endpoint_id = ${endpoint} and s.expires_at is null`;
      return [row?.mine, row?.live];
    });
    expect(await reveal()).toBe(mine);
    expect(live?.[0]).toBe(mine);
    expect(live?.length).toBe(3);
  });
});

describe("what is over leaves the Vault", () => {
  test("the overlap has ended → the pruning job deletes the old one, and no live one", async () => {
    const first = await reveal();
    const second = await rotate(24);
    const third = await rotate(24);
    await db.sql`
      update keyframe_private.webhook_secrets s set expires_at = now() - interval '1 second'
      from vault.decrypted_secrets v where v.id = s.vault_secret_id and v.decrypted_secret = ${first}`;
    await db.sql`select keyframe_private.prune()`; // no rotation after the end: it would delete the old one itself
    expect(await vaulted()).toEqual([second, third].sort());
  });

  test("the overlap has not ended → pruning deletes nothing", async () => {
    await rotate(24);
    await db.sql`select keyframe_private.prune()`;
    expect((await vaulted()).length).toBe(2);
  });

  test("the endpoint is deleted → all its secrets go, and no others", async () => {
    const other = await addEndpoint(db.sql, null);
    await rotate(24);
    await call(db, owner, "delete_webhook_endpoint", { endpoint_id: endpoint });
    expect(await vaulted()).toEqual(await secretsOf(other));
    const [kept] =
      await db.sql`select decrypted_secret as secret from vault.decrypted_secrets where name = 'keyframe_kick_secret'`;
    expect(kept?.secret).toBe("whsec_stays");
  });

  test("the owner's account is deleted → the endpoints go with their secrets", async () => {
    const leaving = await db.addUser();
    await addEndpoint(db.sql, leaving);
    await db.sql`delete from auth.users where id = ${leaving}`;
    expect(await vaulted()).toEqual(await secretsOf(endpoint));
  });
});

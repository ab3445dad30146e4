import { beforeAll, beforeEach, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { columnOf } from "../../support/database/predictions.ts";
import { codeOf } from "../../support/database/refusal.ts";
import { addEndpoint, call, clearWebhooks, exchange, seedDeliveries } from "../../support/database/webhooks.ts";

const db = useDatabase();
let owner: string;
let endpoint: string;
beforeAll(async () => {
  owner = await db.addUser();
});
beforeEach(async () => {
  await clearWebhooks(db.sql);
  endpoint = await addEndpoint(db.sql, owner);
});

const hoursFromNow = (hours: number) => new Date(Date.now() + hours * 3_600_000);
/** What signs for the endpoint at a moment, newest first. */
const live = (at = new Date()) =>
  columnOf(db.sql`select unnest(keyframe_private.webhook_secrets_of(${endpoint}, ${at}))`);
const rotate = async (overlap_hours?: number) => {
  const args = { endpoint_id: endpoint, ...(overlap_hours === undefined ? {} : { overlap_hours }) };
  return (await call<{ secret: string }>(db, owner, "rotate_webhook_secret", args)).secret;
};
const vaulted = () =>
  columnOf(
    db.sql`select decrypted_secret from vault.decrypted_secrets where name like 'keyframe_webhook_%' order by 1`,
  );
const end = (secret: string) => db.sql`
  update keyframe_private.webhook_secrets s set expires_at = now() - interval '1 second'
  from vault.decrypted_secrets v where v.id = s.vault_secret_id and v.decrypted_secret = ${secret}`;

test("a claim → has the secrets valid at its time, newest first", async () => {
  const [old] = await live();
  await seedDeliveries(db.sql, endpoint, 24);
  const handedOut = async (at: Date) => (await exchange(db.sql, { at })).endpoints[0]?.secrets;
  expect(await handedOut(new Date())).toEqual([old]);
  const fresh = await rotate(1);
  expect(await handedOut(hoursFromNow(0.9))).toEqual([fresh, old]);
  expect(await handedOut(hoursFromNow(1.1))).toEqual([fresh]);
});

test("an endpoint's secret cannot be decrypted → only that endpoint has no secret; deliveries for others come with theirs", async () => {
  const [other, wide] = [await addEndpoint(db.sql, owner), await addEndpoint(db.sql, null)];
  for (const id of [endpoint, other, wide]) await seedDeliveries(db.sql, id, 1);
  await db.sql`
    update vault.secrets v set secret = 'AAAA' || secret from keyframe_private.webhook_secrets s
    where s.vault_secret_id = v.id and s.endpoint_id = ${endpoint}`;
  const { endpoints } = await exchange(db.sql);
  const secretsOf = Object.fromEntries(endpoints.map(({ endpoint_id, secrets }) => [endpoint_id, secrets.length]));
  expect(secretsOf).toEqual({ [endpoint]: 0, [other]: 1, [wide]: 1 });
});

test("a rotation by SQL → an overlap of 24 hours by default; less than 0 or more than 72 → invalid_request", async () => {
  const [old] = await live();
  for (const hours of [-1, 73]) expect(await codeOf(rotate(hours))).toBe("invalid_request");
  expect(await live()).toEqual([old]);
  const fresh = await rotate();
  expect(await live(hoursFromNow(23.99))).toEqual([fresh, old]);
  expect(await live(hoursFromNow(24.01))).toEqual([fresh]);
});

test("a third rotation after an overlap has ended → succeeds, and the ended secret leaves the Vault", async () => {
  const [first = ""] = await live();
  const second = await rotate(24);
  await end(first);
  const [third, fourth] = [await rotate(24), await rotate(24)];
  expect(await live()).toEqual([fourth, third, second]);
  expect(await vaulted()).toEqual([second, third, fourth].sort());
});

test("eleven rotations with an overlap, ten of them at once → all succeed; three secrets stay valid, in the Vault too", async () => {
  const fresh = await Promise.all(Array.from({ length: 10 }, () => rotate(24)));
  const secrets = await live();
  expect([new Set(fresh).size, secrets.length]).toEqual([10, 3]);
  expect(fresh).toEqual(expect.arrayContaining(secrets));
  expect(await vaulted()).toEqual(secrets.toSorted());
  const last = await rotate(24);
  expect((await live()).toSorted()).toEqual([last, ...secrets.slice(0, 2)].toSorted());
});

test("ten rotations at once by an administrator → all succeed, and three secrets stay valid", async () => {
  const replace = () => db.sql`select keyframe_private.replace_webhook_secret(${endpoint}, interval '24 hours')`;
  await Promise.all(Array.from({ length: 10 }, replace));
  expect(await live()).toHaveLength(3);
});

test("a rotation whose transaction began before another's, but which came after it → its secret is the current one", async () => {
  const fresh = await db.asUser(owner, async (sql) => {
    await sql`select now()`;
    await rotate(24);
    const [row] = await sql<{ secret: string }[]>`
      select keyframe.rotate_webhook_secret(${endpoint}) ->> 'secret' as secret`;
    return row?.secret;
  });
  const secrets = await live();
  expect([secrets[0], secrets.length]).toEqual([fresh, 3]);
});

test("an overlap has ended → the pruning job deletes the old secret from the Vault, and no valid one", async () => {
  const [first = ""] = await live();
  const second = await rotate(24);
  const third = await rotate(24);
  await end(first);
  await db.sql`select keyframe_private.prune()`; // no rotation after the end: it would delete the old one itself
  expect(await vaulted()).toEqual([second, third].sort());
});

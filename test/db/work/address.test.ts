import { join } from "node:path";
import type postgres from "postgres";
import { beforeEach, expect, test } from "vitest";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { seedPrediction, useWorld } from "../../support/database/predictions.ts";
import { rolledBack } from "../../support/database/rolled-back.ts";
import { addEndpoint, clearWebhooks, seedDeliveries } from "../../support/database/webhooks.ts";

// Which project a database works for. Two stacks, one on a copy of the other's database: test/faults/copied-database.test.ts.

const HERE = "https://here.supabase.co";
const COPY = "https://copy.supabase.co";

const db = useDatabase();
const world = useWorld(db);
beforeEach(async () => {
  await clearWebhooks(db.sql);
  await db.sql`select keyframe_private.set_address(${HERE})`;
});

type Sql = postgres.Sql | postgres.TransactionSql;
const addressOf = async (sql: Sql) => {
  const [row] = await sql`select keyframe_private.address() as address`;
  return row?.address;
};
/** What both workers claim: how much, or the code of the refusal. */
async function claimed(report: object) {
  const found: unknown[] = [];
  await rolledBack(db.sql, async (sql) => {
    const given = sql.json(report as postgres.JSONValue);
    const [row] =
      await sql`select keyframe_worker.claim_tasks(gen_random_uuid(), 9, 60, 300, report => ${given}) as answer`;
    found.push(row?.answer.tasks.length);
  }).catch((error) => found.push(error.code));
  await rolledBack(db.sql, async (sql) => {
    const given = sql.json(report as postgres.JSONValue);
    const [row] = await sql`
      select keyframe_worker.exchange_deliveries('[]', gen_random_uuid(), 9, heartbeat_ms => 300, report => ${given}) as answer`;
    const looking = await sql`select from keyframe_private.worker_heartbeats where alive_until > now()`;
    found.push(row?.answer.endpoints.length, looking.length);
  }).catch((error) => found.push(error.code));
  return found;
}

test("a process of another project, or while the Vault names none → no claim, no heartbeat; this one's, and functions → claims", async () => {
  await seedPrediction(db.sql, world, { status: "queued" });
  await seedDeliveries(db.sql, await addEndpoint(db.sql, world.owner), 1);
  const refused = ["KEYAD", "KEYAD"];
  expect(await claimed({ isProcess: true, address: COPY })).toEqual(refused);
  expect(await claimed({ isProcess: true, address: HERE })).toEqual([1, 1, 1]);
  expect(await claimed({})).toEqual([1, 1, 1]);
  await db.sql`update vault.secrets set secret = 'bm90IHJlYWRhYmxl' where name = 'keyframe_functions_url'`;
  expect(await claimed({ isProcess: true, address: HERE })).toEqual(refused);
});

test("set_address as the page has it, also over what the Vault cannot decrypt → that address; one that is none → refused", async () => {
  expect(await addressOf(db.sql)).toBe(HERE);
  const page = await Deno.readTextFile(join(PROJECT_ROOT, "docs/upgrade.md"));
  const [statement = ""] = /^select keyframe_private\.set_address\(.*;$/m.exec(page) ?? [];
  for (const given of [COPY, `${COPY}/`, `${COPY}/functions/v1`]) {
    await rolledBack(db.sql, async (sql) => {
      await sql`update vault.secrets set secret = 'bm90IHJlYWRhYmxl' where name = 'keyframe_functions_url'`;
      expect(await addressOf(sql)).toBeNull();
      await sql`set local role postgres`;
      await sql.unsafe(statement.replace("https://<ref>.supabase.co", given));
      expect(await addressOf(sql)).toBe(COPY);
    });
  }
  await expect(db.sql`select keyframe_private.set_address('copy')`).rejects.toMatchObject({ code: "22023" });
  for (const role of ["authenticated", "service_role"] as const) {
    const asked = db.as({ role }, (sql) => sql`select keyframe_private.set_address(${COPY})`);
    await expect(asked).rejects.toMatchObject({ code: "42501" });
  }
});

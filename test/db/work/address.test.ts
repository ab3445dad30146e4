import { join } from "node:path";
import type postgres from "postgres";
import { beforeEach, expect, test } from "vitest";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { callWorker } from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { rolledBack } from "../../support/database/rolled-back.ts";

// Which project a database works for. Two stacks, one on a copy of the other's database: test/faults/copied-database.test.ts.

const HERE = "https://here.supabase.co";
const COPY = "https://copy.supabase.co";

const db = useDatabase();
beforeEach(() => db.sql`select keyframe_private.set_address(${HERE})`);

type Sql = postgres.Sql | postgres.TransactionSql;
const addressOf = async (sql: Sql) => {
  const [row] = await sql`select keyframe_private.address() as address`;
  return row?.address;
};

test.each([
  ["claim_tasks", {}],
  ["exchange_deliveries", { results: [] }],
])(
  "%s by another project's process, or without an address in the Vault → refused; by this one's, or a function → accepted",
  async (name, args) => {
    const claim = (report: object) =>
      rolledBack(db.sql, async (sql) => {
        const of = {
          worker_id: crypto.randomUUID(),
          max_rows: 9,
          heartbeat_ms: 300,
          report: db.sql.json(report as never),
        };
        await callWorker(sql, name, { ...of, ...args });
      });
    const refused = (address: string) =>
      expect(claim({ isProcess: true, address })).rejects.toMatchObject({ code: "KEYAD" });
    await refused(COPY);
    await claim({ isProcess: true, address: HERE });
    await claim({});
    await db.sql`update vault.secrets set secret = 'bm90IHJlYWRhYmxl' where name = 'keyframe_functions_url'`;
    await refused(HERE);
  },
);

test("set_address as docs/upgrade.md has it, even if the Vault cannot decrypt the old one → set; an invalid address → refused", async () => {
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

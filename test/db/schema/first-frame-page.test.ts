import type postgres from "postgres";
import { expect, inject, test } from "vitest";
import { fillVault } from "../../../local/stack/apply-migrations.ts";
import { claim, complete, providerSays } from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { columnOf, useWorld } from "../../support/database/predictions.ts";
import { addEndpoint, sendNext } from "../../support/database/webhooks.ts";

const db = useDatabase("shipped limits");
const world = useWorld(db);

/** How many rows of each of our tables this transaction has written. */
const written = async (sql: postgres.TransactionSql) => {
  const rows = await sql<{ name: string; writes: number }[]>`
    select relname as name, (n_tup_ins + n_tup_upd + n_tup_del)::integer as writes from pg_stat_xact_user_tables
    where schemaname in ('keyframe', 'keyframe_private')`;
  return new Map(rows.map(({ name, writes }) => [name, writes]));
};

test("docs/first-frame.md → each part names the tables that it writes, and no other", async () => {
  const tables = await columnOf(
    db.sql`select tablename as name from pg_tables where schemaname in ('keyframe', 'keyframe_private')`,
  );
  const page = await Deno.readTextFile("docs/first-frame.md");
  const named = Object.fromEntries(
    // The event is written with the copy, in its transaction.
    page
      .split(/^\| \| \*\*(?!The event)/m)
      .slice(1)
      .map((part) => {
        const writes = [...part.matchAll(/^\| \d+ .*?→(.*)$/gm)].map(([, cell]) => cell).join(" ");
        const names = [...writes.matchAll(/`(\w+)(?:\.\w+)?`/g)].map(([, name = ""]) => name);
        return [part.slice(0, part.indexOf("**")), tables.filter((name) => names.includes(name)).toSorted()];
      }),
  );
  await addEndpoint(db.sql, world.owner);
  // So that kicks can be made, and the claim acknowledges them.
  const { kickSecret } = inject("stack");
  await fillVault(db.sql, {
    keyframe_functions_url: "http://127.0.0.1:9/functions/v1",
    keyframe_kick_secret: kickSecret,
  });
  const found: Record<string, string[]> = {};
  await db.sql.begin(async (sql) => {
    let before = await written(sql); // by earlier transactions of the connection
    const note = async (part: string) => {
      const now = await written(sql);
      found[part] = [...now]
        .filter(([name, writes]) => writes > (before.get(name) ?? 0))
        .map(([name]) => name)
        .toSorted();
      before = now;
    };
    await sql`select set_config('request.jwt.claims', ${JSON.stringify({ sub: world.owner, role: "authenticated" })}, true)`;
    await sql`set local role authenticated`;
    await sql`select keyframe.start_prediction(${world.project}, 'first-frame', '{}', null, 'key', ${"a".repeat(64)})`;
    await sql`reset role`;
    await sql`select set_config('request.jwt.claims', '', true)`;
    await note("The start");
    const [submit] = await claim(sql, 10, { heartbeatMs: 300 });
    if (!submit) throw new Error("Nothing was claimed.");
    const { id, lease_token: lease } = submit;
    await providerSays(sql, { id, run: "run-1", status: "starting", lease });
    await note("The submit");
    await providerSays(sql, { id, run: "run-1", status: "processing" });
    await providerSays(sql, { id, run: "run-1", status: "succeeded" });
    await note("The callbacks");
    const [copy] = await claim(sql, 10, { heartbeatMs: 300 });
    expect(await complete(sql, id, copy?.lease_token ?? null)).toBe(true);
    expect(await sendNext(sql, { status_code: 200 })).toHaveLength(1);
    await note("The copy");
  });
  expect(found).toEqual(named);
});

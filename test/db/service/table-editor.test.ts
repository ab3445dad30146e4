import type postgres from "postgres";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { type Row, seedPrediction, useWorld } from "../../support/database/predictions.ts";
import { refusalOf } from "../../support/database/refusal.ts";
import { scalar } from "../../support/database/scalar.ts";

type Values = Record<string, unknown>;

// What the row form of hosted Studio sends, read in its public source (RowEditor.utils.ts and Query.utils.ts of supabase/supabase):
// docs/administer.md has the rules. Every statement runs as postgres.

const columnsOf = (sql: postgres.TransactionSql, table: string) => sql<{ name: string; type: string; value: string }[]>`
  select attname as name, format_type(atttypid, atttypmod) as type, pg_get_expr(adbin, adrelid) as value
  from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
  where attrelid = ${table}::regclass and attnum > 0 and not attisdropped`;

/** Insert row → Save, with what a person has typed: the rest is left out, except for a boolean that has a default. */
const insertByForm = (sql: postgres.Sql, table: string, typed: Values): Promise<Row> =>
  asPostgres(sql, async (transaction) => {
    const values = { ...typed };
    for (const { name, type, value } of await columnsOf(transaction, table)) {
      if (type === "boolean" && value !== null && !(name in typed)) values[name] = value === "true";
    }
    const columns = transaction(Object.keys(values));
    return await transaction<Row[]>`
      insert into ${transaction.unsafe(table)} (${columns})
      select ${columns} from jsonb_populate_recordset(null::${transaction.unsafe(table)}, ${JSON.stringify([values])}::text::jsonb)
      returning *`;
  });

/** Edit row → Save: what differs is sent, times compared to the second, and every JSON field, changed or not. */
const updateByForm = (sql: postgres.Sql, table: string, key: Record<string, string>, changed: Values) =>
  asPostgres(sql, async (transaction) => {
    const identity = Object.values(key);
    const where = Object.keys(key)
      .map((name, at) => `${name}::text = $${at + 1}`)
      .join(" and ");
    const [row] = await transaction.unsafe<Row[]>(`select * from ${table} where ${where}`, identity);
    const json = (await columnsOf(transaction, table)).filter(({ type }) => type === "jsonb");
    const differing = Object.entries(changed).filter(([name, value]) => !isSameSecond(row?.[name], value));
    const values = {
      ...Object.fromEntries(json.map(({ name }) => [name, row?.[name]])),
      ...Object.fromEntries(differing),
    };
    const columns = Object.keys(values).join(", ");
    return await transaction.unsafe<Row[]>(
      `update ${table} set (${columns}) = (select ${columns} from json_populate_record(null::${table}, $${identity.length + 1}::text::json))
       where ${where} returning *`,
      [...identity, JSON.stringify(values)],
    );
  });

const isSameSecond = (before: unknown, now: unknown) =>
  before instanceof Date && Math.floor(before.getTime() / 1000) === Math.floor(Date.parse(String(now)) / 1000);

async function asPostgres(
  sql: postgres.Sql,
  work: (transaction: postgres.TransactionSql) => Promise<Row[]>,
): Promise<Row> {
  const row = await sql.begin(async (transaction) => {
    await transaction`set local role postgres`;
    return (await work(transaction))[0];
  });
  if (!row) throw new Error("No row came back.");
  return row;
}

const db = useDatabase();
const world = useWorld(db);
const shot = { title: "Harbour", text_prompt: "A harbour at dawn" };

describe("Insert row", () => {
  test("Insert row: a project of two fields, where one user exists → it belongs to that user, and its event is written", async () => {
    await db.sql`delete from auth.users where id <> ${world.owner}`;
    const { id, owner_id } = await insertByForm(db.sql, "keyframe.projects", shot);
    expect(owner_id).toBe(world.owner);
    expect(await db.sql`select type from keyframe.webhook_events where project_id = ${String(id)}`).toHaveLength(1);
    expect(await insertByForm(db.sql, "keyframe.films", { title: "Film" })).toMatchObject({ owner_id });
  });

  test("Insert row: a project without an owner, where several users exist → refused with what to choose", async () => {
    await db.addUser();
    for (const [table, values] of [
      ["keyframe.projects", shot],
      ["keyframe.films", { title: "Film" }],
    ] as const)
      expect(await refusalOf(insertByForm(db.sql, table, values))).toMatchObject({
        sqlstate: "23502",
        message: "owner_id: choose a user of auth.users. It may be left out only while there is exactly one.",
      });
    expect(await insertByForm(db.sql, "keyframe.projects", { ...shot, owner_id: world.owner })).toMatchObject(shot);
  });

  test("Insert row: a prediction of two fields → its project's owner, the default model, the complete input; it is admitted", async () => {
    const row = await insertByForm(db.sql, "keyframe.predictions", { project_id: world.project, step: "first-frame" });
    const model = await scalar(db.sql`select model from keyframe.step_defaults where step = 'first-frame'`);
    const input = { prompt: "A harbour at dawn, fog, one red boat", aspectRatio: "16:9" };
    const admitted = { status: "queued", admitted_at: expect.any(Date), started_by_server: false };
    expect(row).toMatchObject({ owner_id: world.owner, model, requested_model: null, input, ...admitted });
  });

  test("Insert row: an empty model, or another user as owner → replaced by the default model and the project's owner", async () => {
    const typed = { project_id: world.project, step: "first-frame", model: "", owner_id: await db.addUser() };
    const row = await insertByForm(db.sql, "keyframe.predictions", typed);
    expect(row).toMatchObject({ owner_id: world.owner, model: expect.stringContaining("/"), requested_model: null });
  });

  test("Insert row: a prediction that cannot run → refused with the sentence that the API says", async () => {
    const typed = { project_id: world.project, step: "video" };
    const { message, detail } = await refusalOf(insertByForm(db.sql, "keyframe.predictions", typed));
    expect(message).toBe("frame_not_ready");
    expect(detail).toContain("Generate the first frame");
  });

  const controls = { prompt: { field: "prompt" } };
  test.each<[table: string, typed: Values]>([
    ["keyframe.models", { step: "first-frame", model: "a/b", label: "B", vendor: "A", controls }],
    ["keyframe_private.model_prices", { model: "google/veo-3.1", metric: "run", price_usd: "1", source: "its page" }],
    ["keyframe.webhook_endpoints", { url: "https://crm.example.com/keyframe" }],
    ["keyframe_private.rate_limits", { route_class: "generate-more", capacity: 5, per_second: 1 }],
    ["keyframe_private.owner_budgets", { owner_id: crypto.randomUUID(), month_micros: "10000000" }],
  ])("Insert row: %s, with every column that has no default → inserted", async (table, typed) => {
    expect(await insertByForm(db.sql, table, typed)).toMatchObject(typed);
  });
});

describe("Edit row", () => {
  const video = { step: "video", model: "kwaivgi/kling-v2.6" };

  test.each<[string, Record<string, string>, Record<string, unknown>]>([
    ["keyframe.models", video, { label: "Kling", enabled: false }],
    ["keyframe.step_defaults", { step: "video" }, { model: "google/veo-3.1" }],
    ["keyframe_private.settings", { only_row: "true" }, { max_active_per_owner: 8, spending_stopped: true }],
    ["keyframe_private.rate_limits", { route_class: "generate" }, { capacity: 120 }],
  ])("Edit row: changed values of %s → saved, next to unchanged JSON", async (table, key, changed) => {
    expect(await updateByForm(db.sql, table, key, changed)).toMatchObject(changed);
  });

  test("Edit row: a time, which the form shows to the second → a changed second is saved, an unchanged one keeps its fraction", async () => {
    const shutdown = async (shutdown_at: string) =>
      (await updateByForm(db.sql, "keyframe.models", video, { label: "Kling", shutdown_at })).shutdown_at;
    await db.sql`update keyframe.models set shutdown_at = '2100-01-01T00:00:00.5Z' where model = ${video.model}`;
    expect(await shutdown("2100-01-01T00:00:00+00:00")).toEqual(new Date("2100-01-01T00:00:00.5Z"));
    expect(await shutdown("2100-01-01T00:00:01+00:00")).toEqual(new Date("2100-01-01T00:00:01Z"));
  });

  test("Edit row: a price that is not yet in force → changed; one in force → refused with what to do", async () => {
    const [future] = await db.sql<{ id: string }[]>`
      insert into keyframe_private.model_prices (model, metric, price_usd, valid_from, source)
      values ('google/veo-3.1', 'run', 1, '2100-01-01', 'its page') returning id`;
    const edit = (id: string) => updateByForm(db.sql, "keyframe_private.model_prices", { id }, { price_usd: 2 });
    expect(await edit(String(future?.id))).toMatchObject({ price_usd: "2" });
    const [current] = await db.sql`select id from keyframe_private.model_prices where valid_from < now() limit 1`;
    expect((await refusalOf(edit(String(current?.id)))).message).toContain("Insert a row with the new price");
  });

  test("Edit row: a take is hidden, and its input is sent unchanged → saved", async () => {
    const { id } = await seedPrediction(db.sql, world, { status: "succeeded" });
    const row = await updateByForm(db.sql, "keyframe.predictions", { id }, { hidden: true });
    expect(row.hidden).toBe(true);
  });
});

import { beforeAll, describe, expect, test } from "vitest";
import { openDatabase } from "../support/api/database.ts";
import { type Scene, setScene } from "../support/api/requests.ts";
import { signUp, type User } from "../support/api/user.ts";
import { columnsOf, mayDelete, permitted, type Role, TABLES, type Verb, VERBS } from "../support/security/columns.ts";
import { inParallel, isDenied, type RestCaller, rest } from "../support/security/rest.ts";
import { until } from "../support/until.ts";

// The same specification as columns-sql.test.ts, asked through the Data API: each table × caller × verb × column.

const sql = openDatabase();
let scene: Scene;
let stranger: User;
beforeAll(async () => {
  [scene, stranger] = await Promise.all([setScene(sql), signUp()]);
  await until("an attempt of the delivery", async () => {
    return (await sql`select from keyframe.webhook_attempts where owner_id = ${scene.user.id}`).length > 0;
  });
});

const EXPOSED = Object.entries(TABLES).filter(([name]) => name.startsWith("keyframe."));
const callers: Record<string, { role: Role; caller: () => RestCaller }> = {
  anon: { role: "anon", caller: () => "anon" },
  owner: { role: "authenticated", caller: () => scene.user },
  other: { role: "authenticated", caller: () => stranger },
  service_role: { role: "service_role", caller: () => "service_role" },
};

/** A filter that no row passes: whether the verb may be used is decided before rows are looked at. */
const NOBODY = crypto.randomUUID();
const NO_ROW: Record<string, string> = {
  "keyframe.models": "model=eq.none/none",
  "keyframe.webhook_attempts": "id=eq.0",
};
const noRow = (table: string) => NO_ROW[table] ?? `id=eq.${NOBODY}`;

function ask(caller: RestCaller, verb: Verb, table: string, column: string) {
  const path = `/${table.slice("keyframe.".length)}`;
  if (verb === "select") return rest(caller, "GET", `${path}?select=${column}&limit=0`);
  if (verb === "update") return rest(caller, "PATCH", `${path}?${noRow(table)}`, { json: { [column]: null } });
  // A row of one column that is null: where the column may be written, something else about it is refused.
  return rest(caller, "POST", path, { json: { [column]: null } });
}

/** Attempts are left out: the delivery of the scene is tried again meanwhile. */
const rowsOfAll = async () => {
  const counts: Record<string, unknown> = {};
  const others = ["keyframe.models", "keyframe.webhook_attempts"];
  for (const [name] of EXPOSED.filter(([name]) => !others.includes(name))) {
    const [row] = await sql.unsafe(
      `select count(*)::int as rows from ${name} where owner_id in ('${scene.user.id}', '${stranger.id}')`,
    );
    counts[name] = row?.rows;
  }
  return counts;
};

describe.each(Object.entries(callers))("as %s", (_name, { role, caller }) => {
  test.each(EXPOSED)("%s → each column can be used as specified and not otherwise", async (name, table) => {
    const before = await rowsOfAll();
    for (const verb of VERBS) {
      const columns = columnsOf(table);
      const denied = await inParallel(columns, async (column) => isDenied(await ask(caller(), verb, name, column)));
      expect([verb, columns.filter((_, index) => !denied[index])]).toEqual([verb, permitted(table, role, verb)]);
    }
    const removal = await rest(caller(), "DELETE", `/${name.slice("keyframe.".length)}?${noRow(name)}`);
    expect(isDenied(removal)).toBe(!mayDelete(table, role));
    expect(await rowsOfAll()).toEqual(before);
  });
});

const OWNED = EXPOSED.filter(([, table]) => columnsOf(table).includes("owner_id")).map(([name]) => name);

test.each(OWNED)(
  "the rows of %s → the owner sees the own ones, another user none of them, whatever is asked",
  async (name) => {
    const path = `/${name.slice("keyframe.".length)}`;
    const { id } = scene.user;
    const own = await rest(scene.user, "GET", `${path}?select=owner_id`);
    const owners = new Set((JSON.parse(own.text) as { owner_id: string }[]).map(({ owner_id }) => owner_id));
    expect([...owners]).toEqual([id]);
    for (const query of [
      `owner_id=eq.${id}`,
      `owner_id=neq.${stranger.id}`,
      `or=(owner_id.eq.${id},owner_id.not.is.null)`,
      `not.and=(owner_id.eq.${stranger.id})`,
      "owner_id=not.is.null&order=owner_id&offset=0&limit=1000",
      `owner_id=in.(${id},${stranger.id})`,
    ]) {
      const reply = await rest(stranger, "GET", `${path}?select=*&${query}`);
      expect([query, reply.text.includes(id)]).toEqual([query, false]);
    }
  },
);

test("every exposed table → is in this matrix, found by asking the catalogue", async () => {
  const rows = await sql<{ name: string }[]>`
    select 'keyframe.' || relname as name from pg_class
    where relnamespace = 'keyframe'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f') order by 1`;
  expect(rows.map(({ name }) => name)).toEqual(EXPOSED.map(([name]) => name).toSorted());
});

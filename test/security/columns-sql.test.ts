import { expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";

// What a role of the Data API may do with which columns. Which rows it sees: rest-tricks.test.ts.

const db = useDatabase();

test("columns that a user may write → exactly this list; nobody else writes any, and nobody reads a private table's", async () => {
  const rows = await db.sql<{ may: string }[]>`
    select concat_ws(' ', role, verb, c.oid::regclass, '(' || string_agg(attname, ' ' order by attname) || ')') as may
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and attnum > 0 and not attisdropped
    cross join unnest(array['anon', 'authenticated', 'service_role']) role
    cross join unnest(array['select', 'insert', 'update']) verb
    where c.relnamespace::regnamespace::text like 'keyframe%' and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and has_column_privilege(role, c.oid, attname, verb)
      and not (verb = 'select' and role <> 'anon' and c.relnamespace = 'keyframe'::regnamespace)
    group by role, verb, c.oid order by 1`;
  expect(rows.map(({ may }) => may)).toEqual([
    "anon select keyframe.predictions (created_at)",
    "authenticated insert keyframe.films (description element_ids title)",
    "authenticated insert keyframe.predictions (input model project_id step)",
    "authenticated insert keyframe.projects (aspect_ratio description element_ids film_id plan text_prompt title)",
    "authenticated update keyframe.films (description element_ids title)",
    "authenticated update keyframe.projects (aspect_ratio description element_ids film_id plan reference_image_path selected_first_frame_id selected_last_frame_id selected_video_id text_prompt title)",
  ]);
});

test("tables whose rows a user may delete → exactly this list, and no role may truncate any", async () => {
  const rows = await db.sql<{ may: string }[]>`
    select concat_ws(' ', role, verb, c.oid::regclass) as may from pg_class c
    cross join unnest(array['anon', 'authenticated', 'service_role']) role
    cross join unnest(array['delete', 'truncate', 'trigger', 'references']) verb
    where c.relnamespace::regnamespace::text like 'keyframe%' and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and has_table_privilege(role, c.oid, verb) order by 1`;
  expect(rows.map(({ may }) => may)).toEqual([
    "authenticated delete keyframe.films",
    "authenticated delete keyframe.projects",
  ]);
});

test("a table, view or sequence → none belongs to an API role, or is granted with grant option", async () => {
  const rows = await db.sql`
    select c.oid::regclass::text as name from pg_class c
    left join lateral aclexplode(c.relacl) g on true
    where c.relnamespace in ('keyframe'::regnamespace, 'keyframe_worker'::regnamespace, 'keyframe_private'::regnamespace)
      and (g.is_grantable and g.grantee <> c.relowner or g.grantee = 0
        or pg_get_userbyid(c.relowner) in ('anon', 'authenticated', 'service_role', 'authenticator'))`;
  expect([...rows]).toEqual([]);
});

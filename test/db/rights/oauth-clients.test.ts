import { afterEach, describe, expect, test } from "vitest";
import { type Claims, type ClonedDatabase, useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import { useWorld } from "../../support/database/predictions.ts";
import { refusalOf } from "../../support/database/refusal.ts";
import {
  addScene,
  CLIENT_RIGHTS,
  type ClientRight,
  makeRequest,
  neededFor,
  REQUESTS,
  type Scene,
} from "../../support/database/requests.ts";
import { sendNext } from "../../support/database/webhooks.ts";

// A token of Supabase Auth's OAuth server is a session's with client_id. The running stack: test/security/oauth-clients.test.ts.

const db = useDatabase();
const world = useWorld(db);
afterEach(() => emptyTables(db.sql, "keyframe_private.allowed_clients"));

const APP: string = crypto.randomUUID();
const allow = (may: string, client = APP) =>
  db.sql`insert into keyframe_private.allowed_clients (client_id, name, may) values (${client}, 'An app', ${may})`;
const session = () => ({ role: "authenticated", sub: world.owner });
const client = (client_id: unknown = APP) => ({ ...session(), client_id });

/** `done`, or the code of the refusal. */
const outcome = async (work: PromiseLike<unknown>): Promise<string> =>
  await work.then(
    () => "done",
    async (error) => (await refusalOf(Promise.reject(error))).message,
  );

const mayDo = (may: ClientRight | null, needed: ClientRight) =>
  may !== null && CLIENT_RIGHTS.indexOf(may) >= CLIENT_RIGHTS.indexOf(needed);

const RIGHTS = [null, ...CLIENT_RIGHTS];

test.each(Object.keys(REQUESTS))(
  "%s → for a client that has the right for it as for a session, else client_not_allowed",
  async (name) => {
    const ask = async (caller: Scene["caller"]) =>
      await outcome(makeRequest(db, { ...(await addScene(db, world.owner)), caller }, name));
    const asSession = await ask(session());
    expect(asSession).not.toBe("client_not_allowed");
    for (const may of RIGHTS) {
      await emptyTables(db.sql, "keyframe_private.allowed_clients");
      if (may !== null) await allow(may);
      const done = name === "start_quote" ? "not_found" : asSession; // the session's quote is not the client's
      expect([may, await ask(client())]).toEqual([may, mayDo(may, neededFor(name)) ? done : "client_not_allowed"]);
    }
  },
);

describe.each(RIGHTS)("a client that may %s", (may) => {
  test("in SQL → reads, inserts, updates and deletes by its right", async () => {
    if (may !== null) await allow(may);
    const { project } = world;
    const statements: [needed: ClientRight, statement: string][] = [
      ["generate", "insert into keyframe.films (title) values ('t')"],
      ["generate", "insert into keyframe.projects (title, text_prompt) values ('t', 'p')"],
      ["generate", `insert into keyframe.predictions (project_id, step) values ('${project}', 'first-frame')`],
      ["generate", "update keyframe.films set title = 'u' where title = 't'"],
      ["generate", "update keyframe.projects set title = 'u' where title = 't'"],
      ["manage", "delete from keyframe.films where title = 't'"],
      ["manage", "delete from keyframe.projects where title = 't'"],
    ];
    for (const [needed, statement] of statements) {
      const said = await outcome(db.as(client(), (sql) => sql.unsafe(statement)));
      expect([statement, said]).toEqual([statement, mayDo(may, needed) ? "done" : "client_not_allowed"]);
    }
  });

  // As Realtime asks for whom a change of a prediction is: with the subscriber's role and claims.
  test("the rows of every table → are there by its right", async () => {
    if (may !== null) await allow(may);
    await addScene(db, world.owner);
    while ((await sendNext(db.sql, { status_code: 200 })).length > 0); // other tests' too
    for (const name of await readableTables(db)) {
      const rows = async (claims: ReturnType<typeof session>) =>
        (await db.as(claims, (sql) => sql`select from ${sql(`keyframe.${name}`)}`)).count;
      const all = await rows(session());
      expect([name, all > 0]).toEqual([name, true]);
      const needed = name.startsWith("webhook_") ? "manage" : "read";
      expect([name, await rows(client())]).toEqual([name, mayDo(may, needed) ? all : 0]);
    }
  });
});

test("a file in our buckets and an app's policy for all buckets → nobody writes or deletes one", async () => {
  await db.sql`create policy app_opens_all on storage.objects using (true) with check (true)`;
  await db.sql`insert into storage.buckets (id, name) values ('app', 'app')`;
  await allow("manage");
  const done = async (claims: Claims, statement: string) => {
    const change = db.as(claims, async (sql) => {
      await sql`set local storage.allow_delete_query = 'true'`; // as Storage does
      return (await sql.unsafe(`${statement} returning id`)).count;
    });
    return await change.catch(() => 0);
  };
  for (const bucket of ["projects", "keyframe-outputs"]) {
    const other = `insert into storage.objects (bucket_id, name, owner_id)`;
    await db.sql.unsafe(
      `${other} values ('${bucket}', 'a.png', '${world.owner}'), ('app', '${bucket}', '${world.owner}')`,
    );
    for (const statement of [
      `${other} values ('${bucket}', gen_random_uuid() || '.png', '${world.owner}')`,
      `update storage.objects set metadata = '{}' where bucket_id = '${bucket}' and name = 'a.png'`,
      `update storage.objects set bucket_id = '${bucket}' where bucket_id = 'app' and name = '${bucket}'`,
      `delete from storage.objects where bucket_id = '${bucket}' and name = 'a.png'`,
    ])
      for (const claims of [session(), client(), { role: "anon" }])
        expect([claims, statement, await done(claims, statement)]).toEqual([claims, statement, 0]);
    expect(await done(session(), `delete from storage.objects where bucket_id = 'app' and name = '${bucket}'`)).toBe(1);
  }
  await db.sql`drop policy app_opens_all on storage.objects`;
});

const readableTables = async ({ sql }: ClonedDatabase): Promise<string[]> => {
  const tables = await sql<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = 'keyframe'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f') and has_table_privilege('authenticated', oid, 'select')`;
  return tables.map(({ name }) => name);
};

test("a client without the right that repeats the request of a session, with its Idempotency-Key → client_not_allowed", async () => {
  for (const name of Object.keys(REQUESTS).filter((one) => REQUESTS[one]?.post)) {
    const scene = await addScene(db, world.owner);
    const key = { idempotency_key: name, request_hash: "a".repeat(64) };
    await makeRequest(db, scene, name, key);
    for (const may of [null, ...CLIENT_RIGHTS].filter((right) => !mayDo(right, neededFor(name)))) {
      await db.sql`truncate keyframe_private.allowed_clients`;
      if (may !== null) await allow(may);
      const repeat = makeRequest(db, { ...scene, caller: client() }, name, key);
      expect([name, may, await outcome(repeat)]).toEqual([name, may, "client_not_allowed"]);
    }
  }
});

test("a client_id that is empty, null or no text → client_not_allowed, whatever clients are allowed", async () => {
  for (const id of [APP, "null", "7", "true", "{}", "[]", `["${APP}"]`]) await allow("manage", id);
  for (const id of ["", null, 7, true, {}, [], [APP], ` ${APP}`, APP.toUpperCase()]) {
    const ask = db.as(client(id), (sql) => sql`select keyframe.list_projects()`);
    expect([id, await outcome(ask)]).toEqual([id, "client_not_allowed"]);
  }
  expect((await refusalOf(allow("read", " "))).constraint).toBe("client_id_is_not_empty");
});

test("an administrator takes a client out of the table → its next request is refused", async () => {
  await allow("read");
  const ask = () => outcome(db.as(client(), (sql) => sql`select keyframe.list_projects()`));
  expect(await ask()).toBe("done");
  await db.sql`delete from keyframe_private.allowed_clients where client_id = ${APP}`;
  expect(await ask()).toBe("client_not_allowed");
});

import { afterEach, describe, expect, test } from "vitest";
import { type Claims, type ClonedDatabase, useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import { seedPrediction, useWorld } from "../../support/database/predictions.ts";
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
import { addReference, start } from "../../support/database/user.ts";
import { whileOpen } from "../../support/database/waiting.ts";
import { call, sendNext } from "../../support/database/webhooks.ts";

// A token of Supabase Auth's OAuth server is a session's with client_id. The running stack: test/security/oauth-clients.test.ts.

const db = useDatabase();
const world = useWorld(db);
afterEach(() => emptyTables(db.sql, "keyframe_private.allowed_clients"));

const APP: string = crypto.randomUUID();
const allow = (may: string, client = APP) =>
  db.sql`insert into keyframe_private.allowed_clients (client_id, name, may) values (${client}, 'An app', ${may})`;
const allowOnly = async (may: ClientRight | null) => {
  await emptyTables(db.sql, "keyframe_private.allowed_clients");
  if (may !== null) await allow(may);
};
const session = () => ({ role: "authenticated", sub: world.owner });
const client = (client_id: unknown = APP) => ({ ...session(), client_id });

/** `done`, or the code of the refusal. */
const outcome = (work: PromiseLike<unknown>): PromiseLike<string> =>
  work.then(
    () => "done",
    ({ message }) => message,
  );

const mayDo = (may: ClientRight | null, needed: ClientRight | null) =>
  may !== null && needed !== null && CLIENT_RIGHTS.indexOf(may) >= CLIENT_RIGHTS.indexOf(needed);

const RIGHTS = [null, ...CLIENT_RIGHTS];

test.each(Object.keys(REQUESTS))(
  "%s → allowed for an OAuth client as its right says, else client_not_allowed",
  async (name) => {
    const ask = async (caller: Scene["caller"]) =>
      await outcome(makeRequest(db, { ...(await addScene(db, world.owner)), caller }, name));
    const asSession = await ask(session());
    expect(asSession).not.toBe("client_not_allowed");
    for (const may of RIGHTS) {
      await allowOnly(may);
      const done = name === "start_quote" ? "not_found" : asSession; // the session's quote is not the client's
      expect(await ask(client()), may ?? "none").toBe(mayDo(may, neededFor(name)) ? done : "client_not_allowed");
    }
  },
);

describe.each(RIGHTS)("a client that may %s", (may) => {
  test("an OAuth client in SQL → reads, inserts, updates and deletes as its right says", async () => {
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
  test("an OAuth client that reads every table → sees the rows that its right allows", async () => {
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

test("a file in our buckets while an app has a policy for all buckets → no client can write or delete one", async () => {
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
    const owner = world.owner;
    await db.sql.unsafe(`${other} values ('${bucket}', 'a.png', '${owner}'), ('app', '${bucket}', '${owner}')`);
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

test("a client without the right repeats a session's request with its Idempotency-Key → client_not_allowed", async () => {
  for (const name of Object.keys(REQUESTS).filter((one) => REQUESTS[one]?.post)) {
    const scene = await addScene(db, world.owner);
    const key = { idempotency_key: name, request_hash: "a".repeat(64) };
    await makeRequest(db, scene, name, key);
    for (const may of RIGHTS.filter((right) => !mayDo(right, neededFor(name)))) {
      await allowOnly(may);
      const repeat = makeRequest(db, { ...scene, caller: client() }, name, key);
      expect([name, may, await outcome(repeat)]).toEqual([name, may, "client_not_allowed"]);
    }
  }
});

test("a client and its user's session use the same Idempotency-Key → each makes its own, and can repeat it", async () => {
  for (const one of [APP, "another"]) await allow("generate", one);
  const ask = async (caller: Scene["caller"], letter: string) =>
    await call<{ prediction: { id: string }; replayed: boolean }>(db, caller, "start_prediction", {
      ...{ project_id: world.project, step: "first-frame" },
      ...{ idempotency_key: "shot-1", request_hash: letter.repeat(64) },
    });
  const callers = [client(), session(), client("another")];
  const made = [];
  for (const [at, caller] of callers.entries()) made.push(await ask(caller, "abc"[at] ?? ""));
  expect(made.map(({ replayed }) => replayed)).toEqual([false, false, false]);
  for (const [at, caller] of callers.entries()) {
    const prediction = { id: made[at]?.prediction.id };
    expect(await ask(caller, "abc"[at] ?? "")).toMatchObject({ replayed: true, prediction });
  }
});

describe("a client that may generate", () => {
  const removed = async () => (await db.sql`select from keyframe_private.file_removals`).count;
  const state = async () => [
    await removed(),
    await db.sql`select id, image_paths from keyframe.elements order by id`,
    await db.sql`select reference_image_path from keyframe.projects order by id`,
  ];

  test("a client that may generate changes an element's images → unused images stay; a client that may manage removes them", async () => {
    await allow("generate");
    const [one, two] = [await addReference(db, world.owner), await addReference(db, world.owner)];
    const { element } = await call<{ element: { id: string } }>(db, session(), "create_element", {
      ...{ kind: "prop", name: "Boat", image_paths: [one, two] },
    });
    const change = (image_paths: string[]) =>
      call(db, client(), "update_element", { element_id: element.id, changes: { image_paths } });
    await change([two, one]);
    const before = await state();
    for (const images of [[one], []]) expect(await outcome(change(images))).toBe("client_not_allowed");
    expect(await state()).toEqual(before);
    await start(db, world, { reference: two });
    await change([one]);
    await allowOnly("manage");
    await change([]);
    const gone = await db.sql`
      select 'projects/' || name as path from keyframe_private.file_removals where 'projects/' || name in (${one}, ${two})`;
    expect(gone).toEqual([{ path: one }]);
  });

  test("a client that may generate removes an image that an open transaction stops using → refused, and the image stays", async () => {
    await allow("generate");
    const image = await addReference(db, world.owner);
    const add = async (name: string) =>
      (
        await call<{ element: { id: string } }>(db, session(), "create_element", {
          ...{ kind: "prop", name, image_paths: [image] },
        })
      ).element.id;
    const [boat, pier] = [await add("Boat"), await add("Pier")];
    const before = await removed();
    const change = () =>
      outcome(call(db, client(), "update_element", { element_id: pier, changes: { image_paths: [] } }));
    const waited = await whileOpen(
      db.sql,
      (open) => open`update keyframe.elements set image_paths = '{}' where id = ${boat}`,
      change,
    );
    expect([waited, await removed()]).toEqual(["client_not_allowed", before]);
  });

  test("a client that may generate removes a project's only reference image → refused, by function and by table", async () => {
    await allow("generate");
    const image = await addReference(db, world.owner);
    const change = (reference_image_path: string | null) =>
      call(db, client(), "update_project", { project_id: world.project, changes: { reference_image_path } });
    await change(image);
    const before = await state();
    const update = "update keyframe.projects set reference_image_path = null where true";
    expect(await outcome(change(null))).toBe("client_not_allowed");
    expect(await outcome(db.as(client(), (sql) => sql.unsafe(update)))).toBe("client_not_allowed");
    expect(await state()).toEqual(before);
    await start(db, world, { reference: image });
    await change(null);
  });

  test("a client that may generate replaces the end image of a video → refused while nothing else uses the old one", async () => {
    await allow("generate");
    const { id } = await seedPrediction(db.sql, world, { step: "video", status: "succeeded" });
    const [first, second] = [await addReference(db, world.owner), await addReference(db, world.owner)];
    const store = (path: string | null, caller: Scene["caller"] = client()) =>
      call(db, caller, "update_prediction", {
        ...{ project_id: world.project, prediction_id: id },
        changes: { end_image_path: path },
      });
    await store(first);
    for (const path of [second, null]) expect(await outcome(store(path))).toBe("client_not_allowed");
    await store(second, session());
  });
});

test("a client_id that is empty, null or not a string → client_not_allowed, whichever clients are allowed", async () => {
  for (const id of [APP, "null", "7", "true", "{}", "[]", `["${APP}"]`]) await allow("manage", id);
  for (const id of ["", null, 7, true, {}, [], [APP], ` ${APP}`, APP.toUpperCase()]) {
    const ask = db.as(client(id), (sql) => sql`select keyframe.list_projects()`);
    expect([id, await outcome(ask)]).toEqual([id, "client_not_allowed"]);
  }
  expect((await refusalOf(allow("read", " "))).constraint).toBe("client_id_is_not_empty");
});

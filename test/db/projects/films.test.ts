import type postgres from "postgres";
import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { addFilm, addShot } from "../../support/database/films.ts";
import { addWorld, seedPrediction, type World } from "../../support/database/predictions.ts";
import { codeOf, refusalOf } from "../../support/database/refusal.ts";
import { scalar } from "../../support/database/scalar.ts";
import { start } from "../../support/database/user.ts";
import { untilSomebodyWaits, whileOpen } from "../../support/database/waiting.ts";
import { call } from "../../support/database/webhooks.ts";

type Film = { id: string; title: string; project_ids: string[]; updated_at: string };

const db = useDatabase();
let world: World;
let other: World;
beforeEach(async () => {
  [world, other] = [await addWorld(db), await addWorld(db)];
});

/** A film with this many shots, in order. */
const addFilmOf = async (shots: number) => {
  const film = await addFilm(db, world.owner);
  const ids = [];
  while (ids.length < shots) ids.push(await addShot(db, world.owner, film));
  return { film, ids };
};
const read = async (film: string) => (await call<{ film: Film }>(db, world.owner, "read_film", { film_id: film })).film;
const shotsOf = async (film: string) => (await read(film)).project_ids;
const order = (film: string, ids: string[], versions: string[] | null = null, owner = world.owner) =>
  call<{ film: Film }>(db, owner, "update_film", { film_id: film, project_ids: ids, versions });
const move = (project: string, film: string | null, owner = world.owner) =>
  call(db, owner, "update_project", { project_id: project, changes: { film_id: film } });
const remove = (film: string, withProjects: boolean) =>
  call<{ film: Film }>(db, world.owner, "delete_film", { film_id: film, with_projects: withProjects });
const asUser = (statement: string, owner = world.owner) => db.asUser(owner, (sql) => sql.unsafe(statement));
/** The version in milliseconds, as an ETag names it. */
const versionOf = async (film: string) => new Date((await read(film)).updated_at).toISOString();
const projectVersion = (project: string) =>
  scalar(db.sql`select updated_at::text from keyframe.projects where id = ${project}`);

describe("shots", () => {
  test("projects made in a film → are its shots, in the order in which they were made; one made without a film has none", async () => {
    const { film, ids } = await addFilmOf(3);
    expect(await shotsOf(film)).toEqual(ids);
    const [row] = await db.sql`select film_id, film_position from keyframe.projects where id = ${world.project}`;
    expect(row).toEqual({ film_id: null, film_position: null });
  });

  test("a project changes its film, by the function or the Data API → it is the last shot of the other film", async () => {
    const [from, to] = [await addFilmOf(3), await addFilmOf(1)];
    const [first = "", second = "", third = ""] = from.ids;
    await move(first, to.film);
    await asUser(`update keyframe.projects set film_id = '${to.film}' where id = '${second}'`);
    expect([await shotsOf(from.film), await shotsOf(to.film)]).toEqual([[third], [...to.ids, first, second]]);
    await move(second, null);
    await move(first, to.film); // where it is
    expect(await shotsOf(to.film)).toEqual([...to.ids, first]);
  });

  test("a film's shots change → its version moves; a prompt changes → it does not; a new order → versions of projects stay", async () => {
    const { film, ids } = await addFilmOf(2);
    const [first = ""] = ids;
    const versions = [await versionOf(film)];
    for (const change of [
      () => addShot(db, world.owner, film),
      () => move(first, null),
      () => move(first, film),
      () => call(db, world.owner, "delete_project", { project_id: first }),
      async () => order(film, (await shotsOf(film)).reverse()),
    ]) {
      await change();
      versions.push(await versionOf(film));
    }
    expect([...new Set(versions)].toSorted()).toEqual(versions);

    const [shot = ""] = await shotsOf(film);
    await call(db, world.owner, "update_project", { project_id: shot, changes: { text_prompt: "At night" } });
    await order(film, await shotsOf(film)); // as it is
    expect(await versionOf(film)).toBe(versions.at(-1));
    const before = await projectVersion(shot);
    await order(film, (await shotsOf(film)).reverse());
    expect(await projectVersion(shot)).toBe(before);
  });
});

describe("the order of shots", () => {
  test("an order that lists a new shot and leaves one out → the film has exactly the listed shots; the project left out stays", async () => {
    const [{ film, ids }, another] = [await addFilmOf(4), await addFilmOf(2)];
    const [a = "", b = "", c = "", d = ""] = ids;
    const [e = "", f = ""] = another.ids; // at the positions of a and b
    const { film: answer } = await order(film, [f, world.project, d, e, a, b]);
    expect(answer.project_ids).toEqual([f, world.project, d, e, a, b]);
    expect([await shotsOf(film), await shotsOf(another.film)]).toEqual([answer.project_ids, []]);
    const [left] = await db.sql`select film_id from keyframe.projects where id = ${c}`;
    expect(left).toEqual({ film_id: null });
    await order(film, []);
    expect(await shotsOf(film)).toEqual([]);
  });

  test("two writers who have read the same film → the first succeeds, the second waits for it and is refused", async () => {
    const { film, ids } = await addFilmOf(3);
    const version = [await versionOf(film)];
    const second = await whileOpen(
      db.sql,
      async (sql) => {
        await sql`select set_config('request.jwt.claims', ${JSON.stringify({ sub: world.owner })}, true)`;
        await sql`select keyframe.update_film(${film}, '{}', ${ids.toReversed()}::uuid[], ${version}::timestamptz[])`;
      },
      () => codeOf(order(film, [], version)),
    );
    expect(second).toBe("precondition_failed");
    expect(await shotsOf(film)).toEqual(ids.toReversed());
  });

  test("two films that take each other's shots at once, without a limit on changes → one after the other, no deadlock", async () => {
    const [one, two] = [await addFilmOf(2), await addFilmOf(2)];
    const change = (sql: postgres.Sql | postgres.TransactionSql, film: string, ids: string[] | null) =>
      sql`select keyframe.update_film(${film}, '{"title": "Cut"}', ${ids}::uuid[])`;
    const [limit] = await db.sql`delete from keyframe_private.rate_limits where route_class = 'change' returning *`;
    try {
      let second: Promise<unknown> = Promise.resolve();
      await db.asUser(world.owner, async (sql) => {
        await change(sql, one.film, null);
        second = db.asUser(world.owner, async (sql) => {
          await change(sql, two.film, null);
          await change(sql, two.film, one.ids);
        });
        await untilSomebodyWaits(db.sql);
        await change(sql, one.film, two.ids);
      });
      await second;
      expect([await shotsOf(one.film), await shotsOf(two.film)]).toEqual([two.ids, one.ids]);
    } finally {
      await db.sql`insert into keyframe_private.rate_limits ${db.sql(limit ?? {})}`;
    }
  });

  test("500 shots in another order → each at its new position; 501 shots → refused", async () => {
    const film = await addFilm(db, world.owner);
    await db.sql`
      insert into keyframe.projects (owner_id, title, text_prompt, film_id)
      select ${world.owner}, 'Shot', 'p', ${film} from generate_series(1, 500)`;
    const ids = await shotsOf(film);
    expect(ids.length).toBe(500);
    await order(film, ids.toReversed());
    expect(await shotsOf(film)).toEqual(ids.toReversed());

    for (const attempt of [
      () => addShot(db, world.owner, film),
      () => move(world.project, film),
      () => order(film, [...ids, world.project]),
    ])
      expect((await refusalOf(attempt())).detail).toBe("A film has at most 500 shots.");
    await order(film, [world.project, ...ids.slice(1)]);
    expect((await shotsOf(film)).length).toBe(500);
  });

  test("an order that names a project twice, or null → refused, and nothing is changed", async () => {
    const { film, ids } = await addFilmOf(2);
    for (const list of [[...ids, ...ids], `{${ids[0]},null}`]) {
      expect(await codeOf(order(film, list as string[]))).toBe("invalid_request");
    }
    expect(await shotsOf(film)).toEqual(ids);
  });
});

describe("others", () => {
  test("another user's film or project, and one that never existed → not_found in the same words, and nothing is changed", async () => {
    const { film, ids } = await addFilmOf(2);
    const [theirs, none] = [await addFilm(db, other.owner), crypto.randomUUID()];
    for (const [foreign, attempt] of [
      [theirs, (id: string) => addShot(db, world.owner, id)],
      [theirs, (id: string) => move(ids[0] ?? "", id)],
      [other.project, (id: string) => order(film, [...ids, id])],
      [
        theirs,
        (id: string) =>
          asUser(`insert into keyframe.projects (title, text_prompt, film_id) values ('t', 'p', '${id}')`),
      ],
    ] as const) {
      const [of, absent] = [await refusalOf(attempt(foreign)), await refusalOf(attempt(none))];
      expect(of.message).toBe("not_found");
      expect(of.detail?.replace(foreign, none)).toBe(absent.detail);
    }
    expect(await shotsOf(film)).toEqual(ids);
    expect((await asUser("select from keyframe.films", other.owner)).count).toBe(1);
  });

  test("an administrator puts a project into another owner's film → refused by the foreign key", async () => {
    const film = await addFilm(db, other.owner);
    const into = db.sql`update keyframe.projects set film_id = ${film}, film_position = 1 where id = ${world.project}`;
    expect((await refusalOf(into)).constraint).toBe("projects_film_fkey");
  });
});

describe("deletion of films and accounts", () => {
  const left = async (ids: string[]) =>
    db.sql<{ film_id: string | null; film_position: number | null }[]>`
      select film_id, film_position from keyframe.projects where id = any (${ids})`;

  test("a film is deleted, by the function or the Data API → its projects stay, in no film", async () => {
    for (const how of [
      (film: string) => remove(film, false),
      (film: string) => asUser(`delete from keyframe.films where id = '${film}'`),
    ]) {
      const { film, ids } = await addFilmOf(2);
      await how(film);
      expect(await codeOf(read(film))).toBe("not_found");
      expect([...(await left(ids))]).toEqual(ids.map(() => ({ film_id: null, film_position: null })));
    }
  });

  test("an account is deleted → its films and projects are deleted", async () => {
    const { film, ids } = await addFilmOf(2);
    await db.sql`delete from auth.users where id = ${world.owner}`;
    expect(await left(ids)).toHaveLength(0);
    expect(await db.sql`select from keyframe.films where id = ${film}`).toHaveLength(0);
  });

  test("an account is deleted while one of its requests orders shots → waits for the request; then everything is deleted", async () => {
    const { film, ids } = await addFilmOf(2);
    let deleted: Promise<unknown> = Promise.resolve();
    await db.asUser(world.owner, async (sql) => {
      await sql`select keyframe.update_film(${film}, '{"title": "Cut"}')`;
      deleted = db.sql`delete from auth.users where id = ${world.owner}`.execute();
      await untilSomebodyWaits(db.sql);
      await sql`select keyframe.update_film(${film}, '{}', ${ids.toReversed()}::uuid[])`;
    });
    await deleted;
    expect((await left(ids)).count).toBe(0);
  });
});

test("events of a shot → have a filmId; events of a project without a film → do not", async () => {
  const { film, ids } = await addFilmOf(1);
  const shot = { owner: world.owner, project: ids[0] ?? "" };
  for (const of of [shot, world]) {
    const { id } = await seedPrediction(db.sql, of, { status: "storing" });
    await db.sql`select keyframe_private.mark_failed(${id}, 'x', 'y', false)`;
  }
  for (const [{ project }, filmId] of [
    [shot, film],
    [world, "absent"],
  ] as const) {
    const events = await db.sql`
      select type, coalesce(payload -> 'data' -> 'filmId', '"absent"') as "filmId" from keyframe.webhook_events
      where project_id = ${project} order by created_at, type desc`;
    expect(events).toEqual(["project.created", "generation.failed"].map((type) => ({ type, filmId })));
  }
});

describe("a start with a frame of another shot of its film, at the same moment", () => {
  const ends = (work: PromiseLike<unknown>) =>
    work.then(
      () => "done",
      (error: Error) => error.message,
    );
  /** The start has its own project and waits for its token, then the other work waits for that project, then the start goes on. */
  const meet = async (work: (film: string, ids: string[]) => PromiseLike<unknown>, own: 0 | 1) => {
    const { film, ids } = await addFilmOf(2);
    const [project = "", another = ""] = own === 0 ? ids : ids.toReversed();
    const from = { ...world, project: another };
    const { id: frame } = await seedPrediction(db.sql, from, { step: "last-frame", status: "succeeded" });
    const both: PromiseLike<string>[] = [];
    await db.sql.begin(async (sql) => {
      await sql`insert into keyframe_private.rate_buckets values (${world.owner}, 'generate', 100, now())`;
      both.push(ends(start(db, { ...world, project }, { step: "video", firstFrame: frame })));
      await untilSomebodyWaits(db.sql);
      both.push(ends(work(film, ids)));
      await Promise.race([both[1], untilSomebodyWaits(db.sql, 2)]);
    });
    return await Promise.all(both);
  };

  test.each([0, 1] as const)(
    "a start with another shot's frame while the film is ordered (%s) → both succeed",
    async (own) => {
      expect(await meet((film, ids) => order(film, ids.toReversed()), own)).toEqual(["done", "done"]);
    },
  );

  test.each([0, 1] as const)(
    "a start with another shot's frame while the account or the film is deleted (%s) → no deadlock",
    async (own) => {
      const deletions = [
        () => db.sql`delete from auth.users where id = ${world.owner}`,
        (film: string) => remove(film, true),
      ];
      for (const deletion of deletions) {
        world = await addWorld(db);
        const outcomes = await meet(deletion, own);
        expect([
          ["not_found", "done"],
          ["done", "done"],
          ["done", "generation_in_progress"],
        ]).toContainEqual(outcomes);
      }
    },
  );
});

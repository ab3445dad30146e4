import { expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { addFilm } from "../../support/database/films.ts";
import { scalar } from "../../support/database/scalar.ts";
import { untilSomebodyWaits } from "../../support/database/waiting.ts";
import { call } from "../../support/database/webhooks.ts";

// Two requests of one owner that lock the same rows take them in the same order.

const db = useDatabase();

/** Both requests, the second begun while the first waits for a row that is held meanwhile. */
async function race(row: string, first: () => Promise<unknown>, second: () => Promise<unknown>) {
  const { both } = await db.sql.begin(async (hold) => {
    await hold.unsafe(`select from keyframe.${row} for update`);
    const one = Promise.allSettled([first()]);
    await untilSomebodyWaits(db.sql);
    const other = Promise.allSettled([second()]);
    await untilSomebodyWaits(db.sql, 2);
    return { both: Promise.all([one, other]) };
  });
  const [[one], [other]] = await both;
  return [one, other] as const;
}

test("a shot with an element enters a film while the element is deleted → both succeed, no deadlock", async () => {
  const owner = await db.addUser();
  const element_id: string = await scalar(
    db.sql`insert into keyframe.elements (owner_id, name) values (${owner}, 'Mara') returning id`,
  );
  const film_id: string = await scalar(db.sql`
    insert into keyframe.films (owner_id, title, element_ids) values (${owner}, 'F', ${[element_id]}) returning id`);
  const shot = { title: "t", text_prompt: "p", film_id, element_ids: [element_id] };
  const [created, deleted] = await race(
    `films where id = '${film_id}'`,
    () => call(db, owner, "create_project", shot),
    () => call(db, owner, "delete_element", { element_id }),
  );
  expect([created, deleted]).toMatchObject([{ status: "fulfilled" }, { status: "fulfilled" }]);
  expect(await scalar(db.sql`select element_ids from keyframe.projects where film_id = ${film_id}`)).toEqual([]);
});

test("a film is started while it is deleted with its shots → it is started, the deletion is refused, no deadlock", async () => {
  const owner = await db.addUser();
  const film_id = await addFilm(db, owner);
  const shots = Array.from({ length: 5 }, () => crypto.randomUUID()).sort(); // whatever scan finds them, it is not the film's order
  await db.sql`
    insert into keyframe.projects (id, owner_id, title, text_prompt, film_id, film_position)
    select s.id, ${owner}, 't', 'p', ${film_id}, 6 - s.place from unnest(${shots}::uuid[]) with ordinality s (id, place) order by s.place`;
  const [started, deleted] = await race(
    `projects where id = '${shots[2]}'`,
    () => call(db, owner, "start_film", { film_id, step: "first-frame" }),
    () => call(db, owner, "delete_film", { film_id, with_projects: true }),
  );
  expect(started).toMatchObject({ status: "fulfilled" });
  expect(deleted).toMatchObject({ status: "rejected", reason: { message: "generation_in_progress" } });
});

import { expect, test } from "vitest";
import { openDatabase } from "../support/api/database.ts";
import { listFilms } from "../support/api/films.ts";
import { listPredictions, listProjects } from "../support/api/projects.ts";
import { signUp, type User, useUser } from "../support/api/user.ts";
import { insertDelivery, listDeliveries, register } from "../support/api/webhooks.ts";
import { seedPrediction } from "../support/database/predictions.ts";

const sql = openDatabase();

type Page = { ids: string[]; nextCursor: string | null };
type List = {
  /** Makes a row of a moment. As text: postgres.js would cut a timestamptz to milliseconds. */
  add: (moment: string) => PromiseLike<unknown>;
  read: (query: Record<string, string>) => Promise<Page>;
  inDatabase: () => Promise<{ id: string }[]>;
};

async function projectsOf(user: User): Promise<List> {
  return {
    add: (at) => sql`
      insert into keyframe.projects (owner_id, title, text_prompt, created_at)
      values (${user.id}, 't', 'p', ${at}::text::timestamptz)`,
    read: async (query) => {
      const { projects, nextCursor } = await listProjects(user, query);
      return { ids: projects.map(({ projectId }) => projectId), nextCursor };
    },
    inDatabase: () =>
      sql`select id from keyframe.projects where owner_id = ${user.id} order by created_at desc, id desc`,
  };
}

async function filmsOf(user: User): Promise<List> {
  return {
    add: (at) => sql`
      insert into keyframe.films (owner_id, title, created_at) values (${user.id}, 't', ${at}::text::timestamptz)`,
    read: async (query) => {
      const { films, nextCursor } = await listFilms(user, query);
      return { ids: films.map(({ filmId }) => filmId), nextCursor };
    },
    inDatabase: () => sql`select id from keyframe.films where owner_id = ${user.id} order by created_at desc, id desc`,
  };
}

async function predictionsOf(user: User, filter = {}): Promise<List> {
  const project = await user.createProject();
  let turn = 0;
  return {
    add: async (at) => {
      const step = turn++ % 2 === 0 ? "first-frame" : "last-frame";
      const { id } = await seedPrediction(sql, { owner: user.id, project }, { status: "canceled", step });
      await sql.begin(async (transaction) => {
        await transaction`set local session_replication_role = replica`; // an ended prediction keeps its times
        await transaction`update keyframe.predictions set created_at = ${at}::text::timestamptz where id = ${id}`;
      });
    },
    read: async (query) => {
      const { predictions, nextCursor } = await listPredictions(user, project, { ...query, ...filter });
      return { ids: predictions.map(({ predictionId }) => predictionId), nextCursor };
    },
    inDatabase: () => sql`
      select id from keyframe.predictions where project_id = ${project} and to_jsonb(predictions) @> ${sql.json(filter)}
      order by created_at desc, id desc`,
  };
}

async function deliveriesOf(user: User, filter = {}): Promise<List> {
  const { webhookId } = await register(user, { enabled: false, eventTypes: ["project.created"] });
  let turn = 0;
  return {
    add: (at) => insertDelivery(sql, user, webhookId, ["exhausted", "delivered"][turn++ % 2] ?? "", at),
    read: async (query) => {
      const { deliveries, nextCursor } = await listDeliveries(user, webhookId, { ...query, ...filter });
      return { ids: deliveries.map(({ deliveryId }) => deliveryId), nextCursor };
    },
    inDatabase: () => sql`
      select id from keyframe.webhook_deliveries where endpoint_id = ${webhookId} and to_jsonb(webhook_deliveries) @> ${sql.json(filter)}
      order by created_at desc, id desc`,
  };
}

const user = useUser();

/** Many share a moment, and moments differ by a microsecond. */
const MOMENTS = [1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3, 3, 3].map((micro) => `2026-01-01T00:00:00.00000${micro}Z`);

test.each<[what: string, make: () => Promise<List>]>([
  ["projects", () => projectsOf(user)],
  ["films", () => filmsOf(user)],
  ["predictions of a project", () => predictionsOf(user)],
  ["predictions of one step", () => predictionsOf(user, { step: "first-frame" })],
  ["deliveries", () => deliveriesOf(user)],
  ["deliveries of one status", () => deliveriesOf(user, { status: "delivered" })],
])(
  "a list of %s, page by page while rows are added → each earlier row once, in order; 20 without a limit",
  async (_what, make) => {
    const { add, read, inDatabase } = await make();
    expect(await read({})).toEqual({ ids: [], nextCursor: null });
    for (const moment of MOMENTS) await add(moment);
    for (const limit of [1, 4, "all", "more"]) {
      const expected = (await inDatabase()).map(({ id }) => id);
      const size = typeof limit === "number" ? limit : expected.length + Number(limit === "more");
      const listed: string[][] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const news = listed.length % 2 === 0 && limit === 4 ? [add(new Date().toISOString())] : [];
        const query: Record<string, string> = { limit: String(size), ...(cursor === "" ? {} : { cursor }) };
        const page: Page = (await Promise.all([read(query), ...news]))[0];
        listed.push(page.ids);
        cursor = page.nextCursor;
      }
      const old = new Set(expected);
      expect(listed.flat().filter((id) => old.has(id))).toEqual(expected);
      expect(new Set(listed.flat()).size).toBe(listed.flat().length);
      if (limit !== 4) expect(listed.map(({ length }) => length)).toEqual(sizesOf(expected.length, size));
    }
    for (let more = 0; more < 30; more++) await add("2026-01-02T00:00:00Z");
    const { ids, nextCursor } = await read({});
    expect([ids.length, typeof nextCursor]).toEqual([20, "string"]);
  },
);

const sizesOf = (count: number, size: number) =>
  Array.from({ length: Math.ceil(count / size) }, (_, page) => Math.min(size, count - page * size));

test("another user's cursor → works as a position in time, and lists only the caller's projects", async () => {
  const [one, other] = await Promise.all([signUp(), signUp()]);
  const own = [await one.createProject(), await one.createProject()].reverse();
  for (const _ of [1, 2]) await other.createProject();
  const { nextCursor } = await listProjects(other, { limit: "1" });
  const { projects } = await listProjects(one, { cursor: nextCursor ?? "" });
  expect(projects.map(({ projectId }) => projectId)).toEqual(own);
});

test("a search among more projects than one page covers → an empty page with a cursor, then the project", async () => {
  const user = await signUp();
  const projectId = await user.createProject({ title: "Lighthouse" });
  await sql.begin(async (seeding) => {
    await seeding`set local session_replication_role = replica`;
    await seeding`
      insert into keyframe.projects (owner_id, title, text_prompt, created_at)
      select ${user.id}, 'Harbour', 'p', now() + i * interval '1 millisecond' from generate_series(1, 5000) i`;
  });
  const first = await listProjects(user, { search: "lighthouse" });
  expect([first.projects, typeof first.nextCursor]).toEqual([[], "string"]);
  const second = await listProjects(user, { search: "lighthouse", cursor: first.nextCursor ?? "" });
  expect([second.projects.map((one) => one.projectId), second.nextCursor]).toEqual([[projectId], null]);
  const full = await listProjects(user, { search: "harbour", limit: "100" });
  expect([full.projects.length, typeof full.nextCursor]).toEqual([100, "string"]);
});

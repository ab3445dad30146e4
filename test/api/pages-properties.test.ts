import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { fillBuckets } from "../support/api/buckets.ts";
import { openDatabase } from "../support/api/database.ts";
import { walkPages } from "../support/api/pages.ts";
import { listPredictions, listProjects } from "../support/api/projects.ts";
import { signUp, type User } from "../support/api/user.ts";
import { seedPrediction } from "../support/database/predictions.ts";

// Whatever the sizes of the pages, and whatever comes while somebody turns them.

const sql = openDatabase();
let user: User;
beforeAll(async () => {
  user = await signUp();
});

/** Microseconds after one moment of an hour ago: few, so that many rows share one. */
const moments = fc.oneof(
  { weight: 9, arbitrary: fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 6, maxLength: 14, size: "max" }) },
  { weight: 1, arbitrary: fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 2 }) },
);
/** The limit of each page, over and over again. */
const limits = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4, size: "max" });
/** How many rows are made while a page is read, over and over again. */
const arrivals = fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 3 });

type Row = { id: string; createdAt: string };
type List = {
  /** Makes a row at so many microseconds after the moment. */
  seed: (microseconds: number) => Promise<unknown>;
  /** Makes a row now. */
  arrive: () => Promise<unknown>;
  /** All identifiers, newest first. */
  inDatabase: () => Promise<string[]>;
  read: (query: Record<string, string>) => Promise<{ rows: Row[]; nextCursor: string | null }>;
};

const at = <Value>(values: Value[], turn: number) => values[turn % values.length];

async function expectEachOnce(list: List, seeds: number[], sizes: number[], coming: number[]): Promise<void> {
  for (const microseconds of seeds) await list.seed(microseconds);
  const expected = await list.inDatabase();
  const listed: Row[] = [];
  let turn = 0;
  await walkPages(async (query) => {
    const limit = at(sizes, turn) ?? 1;
    const news = Array.from({ length: at(coming, turn) ?? 0 }, () => list.arrive());
    turn++;
    const [page] = await Promise.all([list.read({ ...query, limit: String(limit) }), ...news]);
    expect(page.rows.length).toBeLessThanOrEqual(limit);
    expect(page.nextCursor === null || page.rows.length === limit).toBe(true);
    listed.push(...page.rows);
    return { ids: page.rows.map(({ id }) => id), nextCursor: page.nextCursor };
  });
  const ids = listed.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id) => expected.includes(id))).toEqual(expected);
  const times = listed.map(({ createdAt }) => createdAt);
  expect(times).toEqual(times.toSorted().reverse());
}

/** Enough to find a cursor without the identifier each time, and little enough for two cores. */
const RUNS = { numRuns: 10 };

test("GET /api/projects, page by page while projects are made → each that was there once, in order, none twice", async () => {
  const base = new Date(Date.now() - 3_600_000);
  await fc.assert(
    fc.asyncProperty(moments, limits, arrivals, async (seeds, sizes, coming) => {
      await sql`delete from keyframe.projects where owner_id = ${user.id}`;
      await fillBuckets(sql, user.id);
      const list: List = {
        seed: (microseconds) => sql`
          insert into keyframe.projects (owner_id, title, text_prompt, created_at)
          values (${user.id}, 't', 'p', ${base}::timestamptz + ${microseconds}::int * interval '1 microsecond')`,
        arrive: () => user.createProject(),
        inDatabase: async () => {
          const rows = await sql<{ id: string }[]>`
            select id from keyframe.projects where owner_id = ${user.id} order by created_at desc, id desc`;
          return rows.map(({ id }) => id);
        },
        read: async (query) => {
          const { projects, nextCursor } = await listProjects(user, query);
          return { rows: projects.map(({ projectId: id, createdAt }) => ({ id, createdAt })), nextCursor };
        },
      };
      await expectEachOnce(list, seeds, sizes, coming);
    }),
    RUNS,
  );
});

test("GET predictions of a project, page by page while more are made → the same", async () => {
  const base = Date.now() - 3_600_000;
  await fc.assert(
    fc.asyncProperty(moments, limits, arrivals, async (seeds, sizes, coming) => {
      await fillBuckets(sql, user.id);
      const project = await user.createProject();
      const seed = (created_at: Date | string) =>
        seedPrediction(sql, { owner: user.id, project }, { status: "canceled", columns: { created_at } });
      const list: List = {
        // Text, for a Date knows no microseconds.
        seed: (microseconds) => seed(new Date(base).toISOString().replace("Z", `00${microseconds}Z`)),
        arrive: () => seed(new Date()),
        inDatabase: async () => {
          const rows = await sql<{ id: string }[]>`
            select id from keyframe.predictions where project_id = ${project} order by created_at desc, id desc`;
          return rows.map(({ id }) => id);
        },
        read: async (query) => {
          const { predictions, nextCursor } = await listPredictions(user, project, query);
          return { rows: predictions.map(({ predictionId: id, createdAt }) => ({ id, createdAt })), nextCursor };
        },
      };
      await expectEachOnce(list, seeds, sizes, coming);
    }),
    RUNS,
  );
});

import { expect, test } from "vitest";
import { createFilmBody } from "../../../shared/contract/films.ts";
import { startVideoBody } from "../../../shared/contract/predictions.ts";
import { createProjectBody } from "../../../shared/contract/projects.ts";
import { createWebhookBody } from "../../../shared/contract/webhooks.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { useWorld } from "../../support/database/predictions.ts";
import { refusalOf } from "../../support/database/refusal.ts";
import { rolledBack } from "../../support/database/rolled-back.ts";

// The rules for texts exist twice: in the contract, for the API, and in checks, for the Data
// API. They must say the same.

const db = useDatabase();
const world = useWorld(db);

type Schema = { safeParse(value: unknown): { success: boolean } };
const project = createProjectBody.shape;
const film = createFilmBody.shape;
const lines = { description: createWebhookBody.shape.description };

const inProject = (texts: string) =>
  `insert into keyframe.projects (owner_id, title, text_prompt, description) values ('${world.owner}', ${texts})`;

/** Each text that users write: its schema, the statement that writes it, and its checks. */
const TEXTS: Record<string, { schema: Schema; insert: (value: string) => string; checks: RegExp }> = {
  "a project's title": { schema: project.title, insert: (value) => inProject(`${value}, 'p', ''`), checks: /^title_/ },
  "a project's textPrompt": {
    schema: project.textPrompt,
    insert: (value) => inProject(`'t', ${value}, ''`),
    checks: /^text_prompt_/,
  },
  "a project's description": {
    schema: project.description,
    insert: (value) => inProject(`'t', 'p', ${value}`),
    checks: /^description_/,
  },
  "a film's title": {
    schema: film.title,
    insert: (value) => `insert into keyframe.films (owner_id, title) values ('${world.owner}', ${value})`,
    checks: /^title_/,
  },
  "a film's description": {
    schema: film.description,
    insert: (value) =>
      `insert into keyframe.films (owner_id, title, description) values ('${world.owner}', 't', ${value})`,
    checks: /^description_/,
  },
  "a step's prompt": {
    schema: startVideoBody.shape.prompt,
    insert: (value) =>
      `insert into keyframe.predictions (project_id, step, input) values ('${world.project}', 'first-frame', jsonb_build_object('prompt', ${value}))`,
    checks: /^prompt_/,
  },
  "an endpoint's description": {
    schema: lines.description,
    insert: (value) =>
      `insert into keyframe.webhook_endpoints (url, description) values ('https://example.com', ${value})`,
    checks: /^description_/,
  },
};

const TITLES = ["a project's title", "a film's title"];
const ENDPOINT = "an endpoint's description";
const MUST_BE_SEEN = [...TITLES, "a project's textPrompt", "a step's prompt"];
const ALL = Object.keys(TEXTS);
const NONE: string[] = [];
const MAY_BE_EMPTY = ALL.filter((name) => !MUST_BE_SEEN.includes(name));
const SEVERAL_LINES = ALL.filter((name) => !TITLES.includes(name) && name !== ENDPOINT);

test.each<[what: string, value: string, takenBy: string[]]>([
  ["nothing", "", MAY_BE_EMPTY],
  ["spaces", "   ", MAY_BE_EMPTY],
  ["zero-width characters alone", "\u200b\u200c\u200d\ufeff\u2060", MAY_BE_EMPTY],
  ["line breaks alone", "\n\r\n\t", SEVERAL_LINES.filter((name) => MAY_BE_EMPTY.includes(name))],
  ["a terminal escape that clears the screen", "a\u001b[2Jb", NONE],
  ["a terminal escape of one byte (C1)", "a\u009b2Jb", NONE],
  ["two lines", "A harbour\nat dawn", SEVERAL_LINES],
  ["lines as Windows ends them, and a tab", "A harbour\r\n\tat dawn", SEVERAL_LINES],
  ["an override from right to left", "gpj.\u202egnp", SEVERAL_LINES],
  ["one letter among spaces", " \u200ba\u00a0", ALL],
  ["Persian with zero-width non-joiners", "می\u200cخواهم", ALL],
  ["Hebrew with points, and a mark of direction", "מִגְדַּלּוֹר\u200f!", ALL],
  ["a family joined of four", "👨‍👩‍👧‍👦", ALL],
  ["a heart with its variation selector, and the flag of Wales", "❤️🏴󠁧󠁢󠁷󠁬󠁳󠁿", ALL],
])("%s → accepted or refused by contract and table alike", async (_what, value, takenBy) => {
  const literal = `'${value.replaceAll("'", "''")}'`;
  const outcomes = [];
  for (const [name, { schema, insert, checks }] of Object.entries(TEXTS)) {
    let byTable = true;
    await rolledBack(db.sql, async (sql) => {
      const inserted = sql.savepoint((inner) => inner.unsafe(insert(literal)));
      if (takenBy.includes(name)) return void (await inserted);
      const refusal = await refusalOf(inserted);
      expect([name, refusal.sqlstate, refusal.constraint]).toEqual([name, "23514", expect.stringMatching(checks)]);
      byTable = false;
    });
    outcomes.push([name, schema.safeParse(value).success, byTable]);
  }
  expect(outcomes).toEqual(ALL.map((name) => [name, takenBy.includes(name), takenBy.includes(name)]));
});

// All of the planes with assigned letters and signs, the tags, the ends of each plane, and every 101st of the rest.
const POINTS = Array.from({ length: 0x10ffff }, (_, at) => at + 1).filter(
  (point) =>
    (point < 0xd800 || point > 0xdfff) &&
    (point < 0x20000 || (point >= 0xe0000 && point < 0xe1000) || (point & 0xffff) >= 0xfffe || point % 101 === 0),
);

test("each character of Unicode alone → contract and checks of the database agree for each kind of text", async () => {
  const [row] = await db.sql<{ invisible: number[]; notInLine: number[]; notPlain: number[] }[]>`
    select array_agg(i) filter (where not keyframe_private.has_visible_character(chr(i))) as invisible,
      array_agg(i) filter (where not keyframe_private.is_one_line(chr(i))) as "notInLine",
      array_agg(i) filter (where not keyframe_private.is_plain_text(chr(i))) as "notPlain"
    from unnest(${POINTS}::int[]) i`;
  if (!row) throw new Error("There is always a row.");
  for (const [schema, refused] of [
    [project.title, new Set([...row.invisible, ...row.notInLine])],
    [project.textPrompt, new Set([...row.invisible, ...row.notPlain])],
    [lines.description, new Set(row.notInLine)],
    [project.description, new Set(row.notPlain)],
  ] as [Schema, Set<number>][]) {
    expect(
      POINTS.filter((point) => schema.safeParse(String.fromCodePoint(point)).success === refused.has(point)),
    ).toEqual([]);
    expect(refused.size).toBeGreaterThan(30);
    expect(refused.size).toBeLessThan(6000);
  }
});

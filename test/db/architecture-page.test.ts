import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";

const page = await readFile(new URL("../../docs/architecture.md", import.meta.url), "utf8");
const section = (title: string) => page.split(/^## /m).find((one) => one.startsWith(title)) ?? "";

const db = useDatabase();

/** `before update or delete`, as the catalogue says it. */
const TIMING = `
  case when t.tgtype & 2 > 0 then 'before ' else 'after ' end || array_to_string(array_remove(array[
    case when t.tgtype & 4 > 0 then 'insert' end, case when t.tgtype & 16 > 0 then 'update' end,
    case when t.tgtype & 8 > 0 then 'delete' end], null), ' or ')`;

test("the table of triggers in docs/architecture.md → every trigger of keyframe.predictions with its time, and no other", async () => {
  const triggers = await db.sql<{ row: string }[]>`
    select t.tgname || ' ' || ${db.sql.unsafe(TIMING)} as row
    from pg_trigger t
    join pg_proc f on f.oid = t.tgfoid
    where t.tgrelid = 'keyframe.predictions'::regclass
      and not t.tgisinternal and starts_with(f.pronamespace::regnamespace::text, 'keyframe')`;
  const rows = [
    ...section("Triggers").matchAll(/^\| `(\w+)` \| ((?:before|after) \w+(?: or \w+)*).*? \| \S.* \|$/gm),
  ].map(([, name, time]) => `${name} ${time}`);
  expect(rows.toSorted()).toEqual(triggers.map(({ row }) => row).toSorted());
});

test("the state diagram in docs/architecture.md → the moves of keyframe_private.prediction_moves, each with its cause", async () => {
  const moves = await db.sql<{ move: string }[]>`
    select from_status || ' ' || to_status as move from keyframe_private.prediction_moves`;
  const arrows = [...section("States of a prediction").matchAll(/^ {2}(\w+) --> (\w+): \w.*$/gm)].map(
    ([, from, to]) => `${from} ${to}`,
  );
  expect(arrows.toSorted()).toEqual(moves.map(({ move }) => move).toSorted());
});

test("the table of jobs in docs/architecture.md → every job of pg_cron, and no other", async () => {
  const jobs = await db.sql<{ jobname: string }[]>`select jobname from cron.job`;
  const rows = [...section("Scheduled jobs").matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name);
  expect(rows.toSorted()).toEqual(jobs.map(({ jobname }) => jobname).toSorted());
});

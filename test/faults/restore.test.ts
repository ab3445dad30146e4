import { afterAll, beforeAll, expect, test } from "vitest";
import { readMigrations } from "../../local/stack/read-migrations.ts";
import { newFilmMaker } from "../support/film/film-maker.ts";
import { untilNobodyLooks } from "../support/stack/restarts.ts";
import { connect, type OwnStack, startOwnStack } from "../support/stack/own-stack.ts";

let stack: OwnStack;
beforeAll(async () => {
  stack = await startOwnStack();
});
afterAll(() => stack.stop());

const WATCH = ["pgrst_ddl_watch", "pgrst_drop_watch"];

/**
 * What `pg_restore --clean --single-transaction` does: all is created again, with other ids in the catalog, and nothing tells the Data API,
 * because event triggers go first and come last. The projects are the dump's only rows.
 */
async function restoreDump(): Promise<void> {
  const migrations = await readMigrations();
  const owner = connect(stack.running.migrationUrl, 1);
  try {
    for (const trigger of WATCH) await stack.sql.unsafe(`alter event trigger ${trigger} disable`);
    const dumped = await stack.sql<{ row: string }[]>`select to_jsonb(p)::text as row from keyframe.projects p`;
    // A restore and a busy worker would wait for each other's locks.
    await owner`select cron.unschedule(jobname) from cron.job where jobname like 'keyframe-%'`;
    await untilNobodyLooks(stack.sql);
    await owner.begin(async (sql) => {
      await sql.unsafe(`
        set local storage.allow_delete_query = true;
        delete from storage.objects; delete from storage.buckets;
        drop policy keyframe_references_select_owner on storage.objects;
        drop policy keyframe_outputs_select_owner on storage.objects;
        drop policy keyframe_files_all_client on storage.objects;
        drop policy keyframe_files_insert_nobody on storage.objects;
        drop policy keyframe_files_update_nobody on storage.objects;
        drop policy keyframe_files_delete_nobody on storage.objects;
        drop schema keyframe, keyframe_worker, keyframe_private cascade`);
      for (const { text } of migrations) await sql.unsafe(text).simple();
      for (const { row } of dumped) {
        await sql`insert into keyframe.projects select * from jsonb_populate_record(null::keyframe.projects, ${row}::text::jsonb)`;
      }
    });
  } finally {
    await owner.end();
    for (const trigger of WATCH) await stack.sql.unsafe(`alter event trigger ${trigger} enable`);
  }
  // As docs/upgrade.md says.
  await stack.sql`notify pgrst, 'reload schema'`;
}

test("a dump restored into a running stack, and the Data API's schema reloaded → new starts are accepted and succeed", async () => {
  const maker = await newFilmMaker(stack);
  const startSome = () => Promise.all(Array.from({ length: 6 }, () => maker.start("first-frame")));
  // Several at a time, so that several connections have prepared what a start runs.
  const before = await startSome();
  await Promise.all(before.map((made) => maker.untilEnded(made)));
  await restoreDump();
  const after = await startSome();
  const ended = await Promise.all(after.map((made) => maker.untilEnded(made)));
  expect(ended.map(({ status }) => status)).toEqual(Array(6).fill("succeeded"));
});

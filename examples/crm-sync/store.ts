import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Change } from "./change.ts";

/** By default, Keyframe keeps events for 30 days and can send them again until then. */
const REMEMBERED_DAYS = 35;

/**
 * State that must outlive a crash, in one SQLite file: which events are done, and which event was the latest about each part of a
 * project. Throws when another process has the file open: two would not see each other's turns.
 */
export function openStore(file: string) {
  mkdirSync(dirname(file), { recursive: true });
  const database = new DatabaseSync(file);
  database.exec(`
    pragma locking_mode = exclusive;
    pragma synchronous = full;
    create table if not exists done (webhook_id text primary key, done_at text not null) without rowid;
    create index if not exists done_by_age on done (done_at);
    create table if not exists latest (
      project_id text not null, part text not null, at text not null, webhook_id text not null,
      primary key (project_id, part)) without rowid;
    begin exclusive; commit;
  `);
  const done = database.prepare("select 1 from done where webhook_id = ?");
  // Two events of one millisecond: any order will do if it is always the same.
  const claim = database.prepare(`
    insert into latest (project_id, part, at, webhook_id) values (?, ?, ?, ?)
    on conflict (project_id, part) do update set at = excluded.at, webhook_id = excluded.webhook_id
    where (excluded.at, excluded.webhook_id) >= (latest.at, latest.webhook_id)`);
  const mark = database.prepare("insert or ignore into done (webhook_id, done_at) values (?, ?)");
  const deleteOld = database.prepare("delete from done where done_at < ?");
  return {
    isDone: (webhookId: string) => done.get(webhookId) !== undefined,
    /** Notes the event as the latest about its part, unless a later one has come before. Returns whether it is the latest. */
    claim: (webhookId: string, { projectId, part, at }: Change) =>
      Number(claim.run(projectId, part, at, webhookId).changes) > 0,
    markDone: (webhookId: string, now: Date) => {
      mark.run(webhookId, now.toISOString());
      deleteOld.run(new Date(now.getTime() - REMEMBERED_DAYS * 24 * 3600 * 1000).toISOString());
    },
  };
}

import postgres from "postgres";
import { openReceiver, type Receiver } from "./receiver.ts";

export const ENDPOINTS = Array.from({ length: 20 }, (_, number) => number);

/** What all ways share: a database, a receiver, and endpoints with their secrets. */
export type Scene = {
  databaseUrl: string;
  sql: postgres.Sql;
  receiver: Receiver;
  /** By the endpoint's number. */
  secrets: string[];
  close(): Promise<void>;
};

/**
 * Twenty users with an endpoint each. The peers find the same URLs and secrets in bench.endpoints; bench.body makes
 * their bodies as long as an event of Keyframe's.
 */
export async function openScene(databaseUrl: string): Promise<Scene> {
  const sql = postgres(databaseUrl, { max: 4, onnotice: () => undefined });
  const receiver = await openReceiver();
  const close = async () => {
    await receiver.close();
    await sql.end({ timeout: 1 });
  };
  try {
    await sql.unsafe(`
      create schema bench;
      create table bench.endpoints (number integer primary key, owner_id uuid not null, id uuid not null, url text not null, secret text not null);
      create table bench.happenings (id uuid primary key, endpoint integer not null, body text not null);
      create function bench.body(number integer) returns text language sql stable as $$
        select jsonb_build_object('type', 'project.created', 'timestamp', now(), 'data', jsonb_build_object(
          'projectId', gen_random_uuid(), 'ownerId', gen_random_uuid(), 'title', 'Event ' || number,
          'textPrompt', repeat('A harbour at dawn. ', 36), 'description', '', 'createdAt', now()))::text
      $$`);
    await sql`
      with users as (
        insert into auth.users (id, email) select gen_random_uuid(), gen_random_uuid() || '@keyframe.local'
        from generate_series(1, ${ENDPOINTS.length}::int) returning id
      ), numbered as (
        select id, row_number() over () - 1 as number from users
      ), made as (
        insert into keyframe.webhook_endpoints (owner_id, url)
        select n.id, ${receiver.url(0).slice(0, -1)} || n.number from numbered n returning id, owner_id, url
      )
      insert into bench.endpoints (number, owner_id, id, url, secret)
      select substring(m.url from '\\d+$')::int, m.owner_id, m.id, m.url, '' from made m`;
    // The secrets exist only after the statement that created the endpoints has ended.
    await sql`update bench.endpoints e set secret = keyframe_private.webhook_secret(e.id) where e.number >= 0`;
    const rows = await sql<{ secret: string }[]>`select e.secret from bench.endpoints e order by e.number`;
    return { databaseUrl, sql, receiver, secrets: rows.map(({ secret }) => secret), close };
  } catch (error) {
    await close();
    throw error;
  }
}

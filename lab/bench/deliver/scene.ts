import type { BenchStack } from "../stack.ts";
import { openReceiver, type Receiver } from "./receiver.ts";

export const ENDPOINTS = 20;

/** Shared by all ways: a database, a receiver, and endpoints with their secrets, by the endpoint's number. */
export type Scene = BenchStack & { receiver: Receiver; secrets: string[] };

/**
 * Twenty users with an endpoint each. The peers find the same URLs and secrets in bench.endpoints; bench.body makes
 * its bodies as long as an event of Keyframe's.
 */
export async function openScene(stack: BenchStack): Promise<Scene> {
  const { sql } = stack;
  const receiver = openReceiver();
  await sql.unsafe(`
    create schema bench;
    create table bench.endpoints (number integer primary key, owner_id uuid not null, id uuid not null, url text not null, secret text not null);
    create table bench.happenings (id uuid primary key, endpoint integer not null, body text not null);
    create table bench.attempts (id bigint generated always as identity primary key, event_id uuid not null, endpoint integer not null,
      status integer, error text, took_ms integer not null, created_at timestamptz not null default now());
    create index on bench.attempts (event_id);
    create function bench.body(number integer) returns text language sql stable as $$
      select jsonb_build_object('type', 'project.created', 'timestamp', now(), 'data', jsonb_build_object(
        'projectId', gen_random_uuid(), 'ownerId', gen_random_uuid(), 'title', 'Event ' || number,
        'textPrompt', repeat('A harbour at dawn. ', 36), 'description', '', 'createdAt', now()))::text
    $$`);
  await sql`
    with users as (
      insert into auth.users (id, email) select gen_random_uuid(), gen_random_uuid() || '@keyframe.local'
      from generate_series(1, ${ENDPOINTS}::int) returning id
    ), made as (
      insert into keyframe.webhook_endpoints (owner_id, url)
      select id, ${receiver.url("")} || row_number() over () - 1 from users returning id, owner_id, url
    )
    insert into bench.endpoints (number, owner_id, id, url, secret)
    select substring(m.url from '\\d+$')::int, m.owner_id, m.id, m.url, '' from made m`;
  // The secrets exist only after the statement that created the endpoints has ended.
  await sql`update bench.endpoints e set secret = keyframe_private.webhook_secret(e.id) where e.number >= 0`;
  const rows = await sql<{ secret: string }[]>`select e.secret from bench.endpoints e order by e.number`;
  return { ...stack, receiver, secrets: rows.map(({ secret }) => secret) };
}

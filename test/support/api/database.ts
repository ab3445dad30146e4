import postgres from "postgres";
import { afterAll, inject } from "vitest";

/** A superuser's connection to the database of the running stack, to see what a request did. Closed after the test file. */
export function openDatabase(): postgres.Sql {
  const sql = postgres(inject("stack").databaseUrl, { max: 2, onnotice: () => undefined });
  afterAll(() => sql.end({ timeout: 5 }));
  return sql;
}

/** All that a user has left behind, tokens of rate limits included. Two equal footprints: nothing has changed between. */
export async function footprint(sql: postgres.Sql, owner: string): Promise<Record<string, unknown>> {
  const [row] = await sql<Record<string, unknown>[]>`
    select
      (select count(*)::int from keyframe.projects where owner_id = ${owner}) as projects,
      (select coalesce(jsonb_agg(to_jsonb(f) order by id), '[]') from keyframe.films f where owner_id = ${owner}) as films,
      (select coalesce(jsonb_agg(to_jsonb(e) order by id), '[]') from keyframe.elements e where owner_id = ${owner}) as elements,
      (select coalesce(jsonb_agg(jsonb_build_array(id, status, updated_at) order by id), '[]')
         from keyframe.predictions where owner_id = ${owner}) as predictions,
      (select count(*)::int from keyframe_private.idempotency_keys where owner_id = ${owner}) as keys,
      (select coalesce(jsonb_agg(to_jsonb(c) - 'last_used_at' order by client_id), '[]')
         from keyframe_private.allowed_clients c where owner_id = ${owner}) as clients,
      (select coalesce(jsonb_object_agg(route_class, jsonb_build_array(tokens, refilled_at)), '{}')
         from keyframe_private.rate_buckets where owner_id = ${owner}) as tokens,
      (select coalesce(jsonb_agg(bucket_id || '/' || name order by name), '[]')
         from storage.objects where ${owner} in (owner_id, user_metadata ->> 'ownerId')) as files`;
  if (!row) throw new Error("The footprint could not be taken.");
  return row;
}

/** The same without tokens: a refused request has taken its own. */
export async function leftBehind(sql: postgres.Sql, owner: string): Promise<Record<string, unknown>> {
  const { tokens: _, ...rest } = await footprint(sql, owner);
  return rest;
}

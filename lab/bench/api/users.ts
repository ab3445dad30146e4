import { waitUntil } from "../measure.ts";
import { importJWK, SignJWT } from "jose";
import type postgres from "postgres";
import type { BenchStack, Caller } from "../stack.ts";

export type BenchUser = Caller & { id: string };

/**
 * New users with a session each. One user's requests would wait for each other at their rate limit, which does not
 * happen in a service with many users. Made by SQL and signed with the stack's key, because signing up is slow.
 */
export async function makeUsers(stack: BenchStack, sql: postgres.Sql, count: number): Promise<BenchUser[]> {
  const made = await sql<{ id: string }[]>`
    insert into auth.users (id, email)
    select gen_random_uuid(), gen_random_uuid() || '@keyframe.local' from generate_series(1, ${count}::int) returning id`;
  const key = await importJWK(stack.keys.signingKey, "ES256");
  return await Promise.all(
    made.map(async ({ id }) => {
      const claims = { role: "authenticated", session_id: crypto.randomUUID() };
      const token = await new SignJWT(claims)
        .setProtectedHeader({ alg: "ES256", kid: stack.keys.signingKey.kid, typ: "JWT" })
        .setSubject(id)
        .setIssuer(`${stack.url}/auth/v1`)
        .setAudience("authenticated")
        .setIssuedAt()
        .setExpirationTime("1h")
        .sign(key);
      return { ...stack.caller, id, token };
    }),
  );
}

/** A project for each user, in their order. */
export async function makeProjects(sql: postgres.Sql, users: BenchUser[]): Promise<string[]> {
  const ids = users.map(() => crypto.randomUUID());
  await sql`insert into keyframe.projects ${sql(
    users.map(({ id }, at) => ({ id: ids[at] ?? "", owner_id: id, title: "Bench", text_prompt: "A harbour at dawn" })),
  )}`;
  return ids;
}

/** A first frame for each project that stays in progress; the provider does not know it and is not asked. */
export async function makeRunning(sql: postgres.Sql, projects: string[]): Promise<string[]> {
  const ids = projects.map(() => crypto.randomUUID());
  await sql`insert into keyframe.predictions ${sql(
    projects.map((project_id, at) => ({ id: ids[at] ?? "", project_id, step: "first-frame" })),
  )}`;
  await sql`
    update keyframe.predictions
    set status = 'starting', provider_prediction_id = id, attempt = 1, started_at = now(), next_attempt_at = now() + interval '1 hour'
    where id in ${sql(ids)}`;
  return ids;
}

/**
 * Does `work` while nothing kicks the function generate, so that started predictions stay queued and a start is
 * measured alone.
 */
export async function keepGenerateStill<Value>(sql: postgres.Sql, work: () => Promise<Value>): Promise<Value> {
  const isIdle = async () =>
    (await sql`select from keyframe_private.worker_heartbeats where function_name = 'generate' and alive_until > now()`)
      .length === 0;
  await waitUntil(isIdle, { what: "generate is idle", everyMs: 50 });
  await sql`
    insert into keyframe_private.worker_heartbeats (function_name, alive_until) values ('generate', 'infinity')
    on conflict (function_name) do update set alive_until = excluded.alive_until`;
  try {
    return await work();
  } finally {
    await sql`update keyframe_private.worker_heartbeats set alive_until = '-infinity' where function_name = 'generate'`;
  }
}

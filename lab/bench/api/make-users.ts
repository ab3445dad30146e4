import { importJWK, SignJWT } from "jose";
import type postgres from "postgres";
import type { BenchStack, Caller } from "../bench-stack.ts";

export type BenchUser = Caller & { id: string };

/**
 * So many new users with a session each: requests of one user come one after the other where they take from one rate limit,
 * which a service with many users does not know. Made by SQL and signed with the stack's own key, for signing up takes a while.
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

/** A project for each of them, in their order. */
export async function makeProjects(sql: postgres.Sql, users: BenchUser[]): Promise<string[]> {
  const ids = users.map(() => crypto.randomUUID());
  await sql`insert into keyframe.projects ${sql(
    users.map(({ id }, at) => ({ id: ids[at] ?? "", owner_id: id, title: "Bench", text_prompt: "A harbour at dawn" })),
  )}`;
  return ids;
}

/** For each project a first frame that runs and goes on running: nobody asks the provider about it, which knows nothing of it. */
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

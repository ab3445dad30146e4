import { importJWK, SignJWT } from "jose";
import type { BenchStack, Caller } from "./stack.ts";

/** A user with a session, and a project in the API's table. */
export type BenchUser = Caller & { id: string; projectId: string };

/** New users, made by SQL because signing up is slow; sessions are signed with the stack's key. */
export async function makeUsers({ sql, keys, url, caller }: BenchStack, count: number): Promise<BenchUser[]> {
  const key = await importJWK(keys.signingKey, "ES256");
  const rows = await sql<{ id: string; session: string; projectId: string }[]>`
    with made as (
      insert into auth.users (id, email)
      select gen_random_uuid(), gen_random_uuid() || '@keyframe.local' from generate_series(1, ${count}::int) returning id
    ), sessions as (
      insert into auth.sessions (id, user_id) select gen_random_uuid(), id from made returning id, user_id
    ), projects as (
      insert into keyframe.projects (owner_id, title, text_prompt)
      select id, 'Bench', 'A harbour at dawn' from made returning id, owner_id
    )
    select s.user_id as id, s.id as session, p.id as "projectId" from sessions s join projects p on p.owner_id = s.user_id`;
  return await Promise.all(
    rows.map(async ({ id, session, projectId }) => {
      const token = await new SignJWT({ role: "authenticated", session_id: session })
        .setProtectedHeader({ alg: "ES256", kid: keys.signingKey.kid, typ: "JWT" })
        .setSubject(id)
        .setIssuer(`${url}/auth/v1`)
        .setAudience("authenticated")
        .setIssuedAt()
        .setExpirationTime("1h")
        .sign(key);
      return { ...caller, id, token, projectId };
    }),
  );
}

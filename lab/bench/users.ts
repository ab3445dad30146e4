import { importJWK, SignJWT } from "jose";
import type { BenchStack, Caller } from "./stack.ts";

export type BenchUser = Caller & { id: string };

/** New users with a session each, made by SQL because signing up is slow. */
export async function makeUsers(stack: BenchStack, count: number): Promise<BenchUser[]> {
  const made = await stack.sql<{ id: string }[]>`
    insert into auth.users (id, email)
    select gen_random_uuid(), gen_random_uuid() || '@keyframe.local' from generate_series(1, ${count}::int) returning id`;
  return await Promise.all(made.map(({ id }) => openSession(stack, id)));
}

/** A session of an existing user, signed with the stack's key. */
async function openSession({ sql, keys, url, caller }: BenchStack, id: string): Promise<BenchUser> {
  const key = await importJWK(keys.signingKey, "ES256");
  const [session] = await sql<{ id: string }[]>`
    insert into auth.sessions (id, user_id) values (gen_random_uuid(), ${id}) returning id`;
  const token = await new SignJWT({ role: "authenticated", session_id: session?.id })
    .setProtectedHeader({ alg: "ES256", kid: keys.signingKey.kid, typ: "JWT" })
    .setSubject(id)
    .setIssuer(`${url}/auth/v1`)
    .setAudience("authenticated")
    .setIssuedAt()
    .setExpirationTime("1h")
    .sign(key);
  return { ...caller, id, token };
}

/** A project for each user, in their order. */
export async function makeProjects({ sql }: BenchStack, users: BenchUser[]): Promise<string[]> {
  const ids = users.map(() => crypto.randomUUID());
  await sql`insert into keyframe.projects ${sql(
    users.map(({ id }, at) => ({ id: ids[at] ?? "", owner_id: id, title: "Bench", text_prompt: "A harbour at dawn" })),
  )}`;
  return ids;
}

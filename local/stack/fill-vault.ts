import type { Sql } from "postgres";

/** Puts secrets into the Vault by name, replacing older values: what `keyframe_private.kick` reads. */
export async function fillVault(sql: Sql, secrets: Record<string, string>): Promise<void> {
  for (const [name, secret] of Object.entries(secrets)) {
    const [kept] = await sql<{ id: string }[]>`select id from vault.secrets where name = ${name}`;
    if (kept) await sql`select vault.update_secret(${kept.id}, ${secret})`;
    else await sql`select vault.create_secret(${secret}, ${name})`;
  }
}

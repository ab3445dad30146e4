import type postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ExtensionDatabase, extensionDatabase } from "./support/extension-database.ts";

let database: ExtensionDatabase;
let sql: postgres.Sql;

beforeAll(async () => {
  database = await extensionDatabase("supabase_vault");
  sql = database.as("postgres");
});

afterAll(async () => {
  await sql`delete from vault.secrets where name like 'conformance%' or description = 'conformance'`;
  await database?.stop();
});

async function create(secret: string, name: string | null): Promise<string> {
  const [row] = await sql<{ id: string }[]>`select vault.create_secret(${secret}, ${name}, 'conformance') as id`;
  return row?.id ?? "";
}

async function read(id: string, as = sql) {
  const [row] = await as`select name, description, decrypted_secret from vault.decrypted_secrets where id = ${id}`;
  return row;
}

test("create_secret → the view has name, description and secret; arguments by name; each name only once", async () => {
  const id = await create("whsec_ä漢", "conformance-read");
  expect(await read(id)).toEqual({
    name: "conformance-read",
    description: "conformance",
    decrypted_secret: "whsec_ä漢",
  });
  const [row] = await sql<{ id: string }[]>`
    select vault.create_secret(new_secret := 'one', new_description := 'conformance', new_key_id := null) as id`;
  expect(await read(row?.id ?? "")).toMatchObject({ name: null, decrypted_secret: "one" });
  expect(await read(await create("two", null))).toMatchObject({ name: null, decrypted_secret: "two" });
});

test("the table of secrets → holds ciphertext, different for the same secret a second time", async () => {
  const ids = [await create("in the clear", null), await create("in the clear", null)];
  const rows = await sql<{ secret: string }[]>`select secret from vault.secrets where id in ${sql(ids)}`;
  const secrets = rows.map(({ secret }) => secret);
  expect(new Set(secrets).size).toBe(2);
  for (const plain of ["in the clear", btoa("in the clear")]) expect(secrets.join(" ")).not.toContain(plain);
});

test("update_secret → changes the given values and leaves the rest", async () => {
  const id = await create("old", "conformance-update");
  await sql`select vault.update_secret(${id}, 'new')`;
  expect(await read(id)).toEqual({ name: "conformance-update", description: "conformance", decrypted_secret: "new" });
  await sql`select vault.update_secret(${id}, new_name := 'conformance-renamed')`;
  expect(await read(id)).toMatchObject({ name: "conformance-renamed", decrypted_secret: "new" });
});

test("a second secret of the same name → unique violation", async () => {
  await create("one", "conformance-twice");
  await expect(create("two", "conformance-twice")).rejects.toMatchObject({ code: "23505" });
});

test("service_role → reads the Vault's view and deletes; like postgres, it cannot insert rows itself", async () => {
  const id = await create("for the service", "conformance-service");
  const service = database.as("service_role");
  expect(await read(id, service)).toMatchObject({ decrypted_secret: "for the service" });
  await service`delete from vault.secrets where id = ${id}`;
  expect(await read(id)).toBeUndefined();
  for (const client of database.postgresIsSuperuser ? [service] : [service, sql]) {
    await expect(client`insert into vault.secrets (name, secret) values ('conformance-x', 'x')`).rejects.toMatchObject({
      code: "42501",
    });
  }
});

test.each(["anon", "authenticated"] as const)("%s → may not even use the schema vault", async (role) => {
  for (const statement of [
    ...["select from vault.decrypted_secrets", "select from vault.secrets", "select vault.create_secret('x')"],
    "select vault.update_secret(gen_random_uuid(), 'x')",
  ]) {
    await expect(database.as(role).unsafe(statement)).rejects.toMatchObject({ code: "42501" });
  }
});

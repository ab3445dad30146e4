import { readFile } from "node:fs/promises";
import postgres from "postgres";
import { expect, test } from "vitest";
import { describeSchema } from "../../tools/describe-schema.ts";
import { cloneDatabase } from "../support/database/clone-database.ts";

test("docs/schema.sql → is what the migrations make (run `npm run schema` after a change)", async () => {
  const db = await cloneDatabase();
  const sql = postgres(db.url, { max: 1, onnotice: () => undefined });
  try {
    const document = await readFile(new URL("../../docs/schema.sql", import.meta.url), "utf8");
    expect(await describeSchema(sql)).toBe(document);
  } finally {
    await sql.end();
    await db.drop();
  }
});

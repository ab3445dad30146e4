import type postgres from "postgres";
import { runStatements } from "../../../tools/sql/run-statements.ts";
import type { Row } from "./predictions.ts";

/** The SQL of one recipe: the ```sql blocks under a ### heading, joined. */
type Recipe = { title: string; sql: string };

/**
 * Every recipe of a page of docs, in its order. A heading with SQL but without a name of its own would be lost,
 * so it is refused.
 */
export async function readRecipes(page = "administer"): Promise<Recipe[]> {
  const text = await Deno.readTextFile(new URL(`../../../docs/${page}.md`, import.meta.url));
  return text.split(/^#{2,3} /m).flatMap((section) => {
    const title = section.slice(0, section.indexOf("\n")).trim();
    const blocks = [...section.matchAll(/^```sql\n([\s\S]*?)^```$/gm)].map(([, sql = ""]) => sql);
    if (blocks.length > 1) throw new Error(`${title} has ${blocks.length} blocks of SQL: give each its own heading.`);
    return blocks.map((sql) => ({ title, sql }));
  });
}

/** The statement with what stands for `<name>`. Throws when something is left in brackets, or was not asked for. */
export function fillIn(sql: string, values: Record<string, string>): string {
  const filled = Object.entries(values).reduce((text, [name, value]) => {
    if (!text.includes(`<${name}>`)) throw new Error(`The recipe has no <${name}>.`);
    return text.replaceAll(`<${name}>`, value);
  }, sql);
  const left = /<[a-z_]+>/.exec(filled);
  if (left) throw new Error(`Nothing was given for ${left[0]}.`);
  return filled;
}

/** Runs statements as `npm run sql` and the SQL editor of Studio do: as postgres, all in one go. Gives the rows of the last. */
export async function asAdministrator(sql: postgres.Sql, text: string): Promise<Row[]> {
  const { results } = await sql.begin(async (transaction) => {
    await transaction.unsafe("set local role postgres");
    return { results: await runStatements(transaction, text) };
  });
  return (results.at(-1)?.rows ?? []) as Row[]; // what postgres.js makes of these columns
}

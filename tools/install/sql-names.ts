import { readText } from "./source.ts";

/** Written so that neither a literal of megabytes nor a comment without an end needs much memory or time. */
const HIDDEN = new RegExp(
  [
    /--.*/, // a comment
    /\/\*[^*/]*(?:(?:\*(?!\/)|\/(?!\*)|\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\/)[^*/]*)*\*\//, // another, which may contain comments
    /\b(?:do|as)\s+(?:language\s+\w+\s+)?\$(?<tag>\w*)\$(?<run>[\s\S]*?)\$\k<tag>\$/, // SQL that runs, or a function's body
    /\$(?<quote>(?!\d)\w*)\$[\s\S]*?\$\k<quote>\$/, // a string
    /\be'[^'\\]*(?:(?:''|\\[\s\S])[^'\\]*)*'/, // another
    /'[^']*(?:''[^']*)*'/, // another
    /"[^"]*(?:""[^"]*)*"/, // a name
  ]
    .map(({ source }) => source)
    .join("|"),
  "gi",
);

/** SQL in small letters, with one space for a gap or comment. Of strings and quoted names, only plain words are left. */
function plainSql(sql: string): string {
  const plain = sql.replaceAll(HIDDEN, (found: string, _tag?: string, run?: string) => {
    if (run !== undefined) return ` ${plainSql(run)}`;
    if (/^(--|\/\*)/.test(found)) return " ";
    if (/^"[a-z_][a-z0-9_]*"$/.test(found)) return found.slice(1, -1);
    return /^'[a-z0-9_-]{1,63}'$/.test(found) ? found : "''";
  });
  return plain.toLowerCase().replaceAll(/\s+/g, " ");
}

type Names = { schemas: Set<string>; buckets: Set<string>; used: Set<string> };

/** The names of schemas and buckets that a file of SQL creates, and of the schemas whose objects it names. A link may lead nowhere. */
export async function namesInFile(...path: string[]): Promise<Names> {
  const plain = plainSql(await readText(...path).catch(() => ""));
  const all = (pattern: RegExp, text = plain) => Array.from(text.matchAll(pattern), ([, name = ""]) => name);
  const inserts = all(/\binsert into storage ?\. ?buckets([^;]*)/g);
  return {
    schemas: new Set(
      all(/\b(?:create schema(?: if not exists)?(?: authorization)?|alter schema \S+ rename to) ([^\s;]+)/g),
    ),
    buckets: new Set(inserts.flatMap((values) => all(/'([^']*)'/g, values))),
    used: new Set(all(/\b(\w+) ?\./g)),
  };
}

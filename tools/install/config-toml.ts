import { isDeepStrictEqual } from "node:util";
import { parse } from "smol-toml";
import { sha256Hex } from "../deploy/migrations.ts";
import { InstallError, type Source } from "./source.ts";

// No library: of those that keep comments, @decimalturn/toml-patch 3.3.0 moves the app's own [functions.…] under dotted keys at
// the top and makes mixed line ends equal; the others write the whole file anew. toml-eslint-parser 1.0.3 only finds places, refuses a
// byte order mark, and would be a second parser.
const BEGIN = "# keyframe: begin. Written by `add`; `remove` takes it out.";
const END = "# keyframe: end";
const MARK = /^[ \t]*# keyframe: (?:begin|end)/m;
/** Editors move the marks a little: they are found all the same. */
const BLOCK = /(?:\r?\n|^)[ \t]*# keyframe: begin[^\n]*\n([\s\S]*?)\n[ \t]*# keyframe: end[ \t]*(\w*)[ \t\r]*(?:\n|$)/;
/** A setting before the next table: it belongs to the last table of our block. */
const SETTING = /^(?:[ \t\r]*(?:#[^\n]*)?\n)*[ \t]*[^\s#[]/;
const OWN_LINE = "# keyframe: this line";
const DEFAULT_SCHEMAS = ["public", "graphql_public"];

type Config = {
  api?: { schemas?: string[] };
  functions?: Record<string, unknown>;
  storage?: { buckets?: Record<string, unknown> };
};

/** Throws an InstallError when it is not valid TOML. */
export function parseConfig(text: string): Config {
  try {
    return parse(text);
  } catch (error) {
    const [said] = String(error instanceof Error ? error.message : error).split("\n");
    throw new InstallError(`supabase/config.toml cannot be read (${said}). Correct it and run the command again.`);
  }
}

/** The app's config.toml with the functions declared and the schemas exposed. Everything else stays as it is. */
export function addToConfig(text: string, { functions, schemas }: Pick<Source, "functions" | "schemas">): string {
  const own = removeFromConfig(text, schemas);
  const config = parseConfig(own);
  const exposed = config.api?.schemas ?? DEFAULT_SCHEMAS;
  const missing = schemas.filter((name) => !exposed.includes(name));
  const wanted: Config = {
    ...config,
    api: { ...config.api, schemas: [...exposed, ...missing] },
    functions: { ...config.functions, ...functions },
  };
  const tables = Object.entries(functions).map(([name, settings]) =>
    [`[functions.${name}]`, ...Object.entries(settings).map((entry) => assignment(...entry))].join("\n"),
  );
  const withSchemas = missing.length === 0 ? own : exposeSchemas(own, missing, wanted.api?.schemas ?? []);
  if (config.api === undefined) tables.unshift(`[api]\n${assignment("schemas", wanted.api?.schemas)}`);
  const body = tables.join("\n\n");
  const added = `\n${BEGIN}\n${body}\n${END} ${checksum(body)}\n`;
  const result = withSchemas + added.replaceAll("\n", lineEnd(text));
  if (!isEqual(result, wanted)) {
    throw new InstallError(
      `supabase/config.toml is written in a form that cannot be changed safely. Write [api] and [functions.…] as tables of their own, with ${JSON.stringify(schemas)} in the schemas of [api], and run the command again.`,
    );
  }
  return result;
}

/** Line ends of an app on Windows stay. */
const lineEnd = (text: string) => /\r?\n/.exec(text)?.[0] ?? "\n";

const assignment = (key: string, value: unknown) => `${key} = ${JSON.stringify(value).replaceAll('","', '", "')}`;

function isEqual(text: string, wanted: Config): boolean {
  try {
    return isDeepStrictEqual(structuredClone(parse(text)), structuredClone(wanted));
  } catch {
    return false;
  }
}

/** The config without what `addToConfig` wrote. */
export function removeFromConfig(text: string, schemas: string[]): string {
  const without = text.replace(BLOCK, (block, body: string, sum: string, at: number) => {
    if (checksum(body) !== sum || SETTING.test(text.slice(at + block.length))) refuseEdited();
    return at === 0 || text[at - 1] === "\n" || at + block.length === text.length ? "" : lineEnd(text);
  });
  if (MARK.test(without)) refuseEdited();
  const array = findSchemas(without);
  if (array === undefined) return without;
  const name = `["'](?:${schemas.join("|")})["']`;
  // Ours go with one comma; strings and comments of the app stay, whatever they contain.
  const ours = `,\\s*${name}|${name}(?:((?:\\s|#[^\\n]*\\n)*),\\s*)?`;
  const list = without
    .slice(array.start, array.end)
    .replace(new RegExp(`${ours}|(${TOKEN.source})`, "g"), (_found, gap = "", kept = "") =>
      gap.includes("#") ? gap : kept,
    );
  const head = without.slice(0, array.start) + list;
  const tail = without.slice(array.end).replace(new RegExp(`^\\] ${OWN_LINE}`), "]");
  const isOwn = tail !== without.slice(array.end);
  const line = assignment("schemas", DEFAULT_SCHEMAS);
  // Our line goes whole, unless the app has changed it.
  return isOwn && head.endsWith(line.slice(0, -1)) && /[\n]$/.test(head.slice(0, 1 - line.length))
    ? head.slice(0, 1 - line.length) + tail.replace(/^\]\r?\n?/, "")
    : head + tail;
}

/** Of the text without spaces and line ends, which editors change. */
const checksum = (body: string) => sha256Hex(body.replace(/\s/g, "")).slice(0, 8);

function refuseEdited(): never {
  throw new InstallError(
    "Keyframe's part of supabase/config.toml was edited, so nothing was changed. Move what is yours out of it, and a setting behind its end into a table of yours, delete the rest from `# keyframe: begin` to `# keyframe: end`, and run the command again.",
  );
}

function exposeSchemas(text: string, missing: string[], all: string[]): string {
  const names = missing.map((name) => JSON.stringify(name)).join(", ");
  const array = findSchemas(text);
  if (array !== undefined) {
    const { last } = array;
    return last === undefined
      ? `${text.slice(0, array.start)}${names}${text.slice(array.start)}`
      : `${text.slice(0, last)}, ${names}${text.slice(last)}`;
  }
  return text.replace(API_TABLE, (header) => `${header}${assignment("schemas", all)} ${OWN_LINE}${lineEnd(text)}`);
}

/** A string or a comment. */
const TOKEN = /"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*/;

/** A byte order mark may stand before it. */
const API_TABLE = /^\ufeff?[ \t]*\[[ \t]*api[ \t]*\][^\n]*\n/m;

/** Where the elements of `schemas` in the table [api] start and end, and where the last one ends. */
function findSchemas(text: string): { start: number; end: number; last: number | undefined } | undefined {
  const header = API_TABLE.exec(text);
  if (header === null) return undefined;
  const tableStart = header.index + header[0].length;
  const next = /^[ \t]*\[/m.exec(text.slice(tableStart));
  const table = text.slice(tableStart, next === null ? undefined : tableStart + next.index);
  const key = /^[ \t]*schemas[ \t]*=[ \t]*\[/m.exec(table);
  if (key === null) return undefined;
  const start = tableStart + key.index + key[0].length;
  let last: number | undefined;
  const token = new RegExp(`${TOKEN.source}|\\]`, "g");
  token.lastIndex = start;
  for (let found = token.exec(text); found !== null; found = token.exec(text)) {
    if (found[0] === "]") return { start, end: found.index, last };
    if (!found[0].startsWith("#")) last = token.lastIndex;
  }
  return undefined;
}

import { isDeepStrictEqual } from "node:util";
import { parse } from "smol-toml";
import { sha256Hex } from "../digests.ts";
import { InstallError, type Source } from "./source.ts";

// config.toml is changed as text, because the libraries that write TOML lose comments or move the app's tables. The result is parsed and
// compared, so a form that these few patterns do not match is refused.
const BEGIN = "# keyframe: begin. Written by `add`; `remove` takes it out.";
const END = "# keyframe: end";
/** Editors move the marks a little. This finds them all the same. */
const BLOCK = /(?:\r?\n|^)[ \t]*# keyframe: begin[^\n]*\n([\s\S]*?)\n[ \t]*# keyframe: end[ \t]*(\w*)[ \t\r]*(?:\n|$)/;
/** The list of schemas in the table [api], which may follow a byte order mark. */
const SCHEMAS = /^(\ufeff?[ \t]*\[api\][^\n]*\n(?:(?![ \t]*\[)[^\n]*\n)*?[ \t]*schemas[ \t]*=[ \t]*\[)([^\]]*)/m;
const DEFAULT_SCHEMAS = ["public", "graphql_public"];

type Config = {
  api?: { schemas?: string[] };
  functions?: Record<string, unknown>;
  storage?: { buckets?: Record<string, unknown> };
};

/** Throws an InstallError when the text is not valid TOML, or has another value where a table or a list of names is read. */
export function parseConfig(text: string): Config {
  let config: Record<string, unknown>;
  try {
    config = structuredClone(parse(text));
  } catch (error) {
    const [said] = String(error instanceof Error ? error.message : error).split("\n");
    throw new InstallError(`supabase/config.toml cannot be read (${said}). Correct it and run the command again.`);
  }
  const { api = {}, functions = {}, storage = {} } = config;
  if (!isTable(api)) refuseForm("api must be a table");
  if (!isTable(functions)) refuseForm("functions must be a table");
  if (!isTable(storage)) refuseForm("storage must be a table");
  if (!isTable(storage.buckets ?? {})) refuseForm("storage.buckets must be a table");
  const { schemas = [] } = api;
  if (!Array.isArray(schemas) || schemas.some((name) => typeof name !== "string"))
    refuseForm('schemas in [api] must be a list of names, such as ["public"]');
  return config; // checked above
}

const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function refuseForm(said: string): never {
  throw new InstallError(`supabase/config.toml cannot be read: ${said}. Correct it and run the command again.`);
}

/** The app's config.toml with the functions declared and the schemas exposed. Everything else stays as it is. */
export function addToConfig(text: string, { functions, schemas }: Pick<Source, "functions" | "schemas">): string {
  const own = removeFromConfig(text, schemas);
  const config = parseConfig(own);
  const exposed = (config.api?.schemas ?? DEFAULT_SCHEMAS).filter((name) => !schemas.includes(name));
  const expected: Config = {
    ...config,
    api: { ...config.api, schemas: [...exposed, ...schemas] },
    functions: { ...config.functions, ...functions },
  };
  const tables = Object.entries(functions).map(([name, settings]) =>
    [`[functions.${name}]`, ...Object.entries(settings).map((entry) => assignment(...entry))].join("\n"),
  );
  if (config.api === undefined) tables.unshift(`[api]\n${assignment("schemas", expected.api?.schemas)}`);
  const body = tables.join("\n\n");
  const block = `\n${BEGIN}\n${body}\n${END} ${checksum(body)}\n`.replaceAll("\n", lineEnd(text));
  const result = own.replace(SCHEMAS, (_found, head, list) => head + withNames(list, schemas)) + block;
  if (!isEqual(result, expected) || !holds(() => removeFromConfig(result, schemas) === own)) {
    throw new InstallError(
      `supabase/config.toml is in a form that cannot be changed safely. Write [api] and [functions.…] as tables of their own, with ${assignment("schemas", expected.api?.schemas)} in [api], and run the command again.`,
    );
  }
  return result;
}

/** The config without what `addToConfig` wrote. */
export function removeFromConfig(text: string, schemas: string[]): string {
  let ours: Config = {};
  const without = text.replace(BLOCK, (block, body: string, sum: string, at: number) => {
    if (checksum(body) !== sum) refuseEdited();
    ours = parseConfig(`${body}\n`);
    return at === 0 || text[at - 1] === "\n" || at + block.length === text.length ? "" : lineEnd(text);
  });
  if (/^[ \t]*# keyframe: (?:begin|end)/m.test(without)) refuseEdited();
  const result = without.replace(SCHEMAS, (_found, head, list) => head + withoutNames(list, schemas));
  if (isEqual(result, subtract(parseConfig(text), ours, schemas))) return result;
  // A setting after the block belongs to its last table, and would move to another one.
  if (without !== text) refuseEdited();
  return text;
}

const assignment = (key: string, value: unknown) => `${key} = ${JSON.stringify(value).replaceAll('","', '", "')}`;

/** The line end of the text, so that those of an app on Windows stay. */
const lineEnd = (text: string) => /\r?\n/.exec(text)?.[0] ?? "\n";

/** The checksum of the text without spaces and line ends, which editors change. */
const checksum = (body: string) => sha256Hex(body.replace(/\s/g, "")).slice(0, 8);

/** The list with these elements added at its end. */
function withNames(list: string, names: string[]): string {
  const ours = names.map((name) => JSON.stringify(name)).join(", ");
  const end = Math.max(list.lastIndexOf('"'), list.lastIndexOf("'")) + 1;
  return end === 0 ? ours + list : `${list.slice(0, end)}, ${ours}${list.slice(end)}`;
}

/** Each name goes with one comma. Comments stay, whatever they contain. */
function withoutNames(list: string, names: string[]): string {
  const name = `["'](?:${names.join("|")})["']`;
  const pattern = new RegExp(`(#[^\\n]*)|,\\s*${name}|${name}(?:\\s*,\\s*)?`, "g");
  return list.replace(pattern, (_found, comment = "") => comment);
}

function subtract({ functions, api, ...rest }: Config, ours: Config, schemas: string[]): Config {
  const left = Object.entries(functions ?? {}).filter(([name]) => !(name in (ours.functions ?? {})));
  const exposed = api?.schemas?.filter((name) => !schemas.includes(name));
  return {
    ...rest,
    ...(left.length > 0 && { functions: Object.fromEntries(left) }),
    ...(api && !ours.api && { api: exposed ? { ...api, schemas: exposed } : api }),
  };
}

const isEqual = (text: string, expected: Config): boolean =>
  holds(() => isDeepStrictEqual(parseConfig(text), structuredClone(expected)));

/** Returns false even if the check throws, for example because the text is not TOML. */
function holds(check: () => boolean): boolean {
  try {
    return check();
  } catch {
    return false;
  }
}

function refuseEdited(): never {
  throw new InstallError(
    "Keyframe's part of supabase/config.toml was edited, so nothing was changed. Move your own settings out of it, and a setting after its end into a table of its own, delete the rest from `# keyframe: begin` to `# keyframe: end`, and run the command again.",
  );
}

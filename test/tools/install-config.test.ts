import { parse } from "smol-toml";
import { expect, test } from "vitest";
import { addToConfig, removeFromConfig } from "../../tools/install/config-toml.ts";
import { type App, nextVersions } from "../../tools/install/app.ts";
import { InstallError } from "../../tools/install/source.ts";

const schemas = ["keyframe", "keyframe_worker"];
const ours = { functions: { films: { enabled: true, entrypoint: "./functions/films/index.ts" } }, schemas };

test.each<[what: string, text: string, exposed: string[]]>([
  ["schemas in one line", '[api]\nport = 1\nschemas = ["public"]\n[db]\nport = 2\n', ["public"]],
  [
    "schemas in lines with comments",
    '[api] # the API\n# who sees what\nschemas = [\n  "public", # "keyframe" too\n  \'mine\', # ours\n]\nmax_rows = 7\n',
    ["public", "mine"],
  ],
  ["no table of the API", 'project_id = "a" # with a comment\n[db]\nport = 2', ["public", "graphql_public"]],
  ["an empty list", "[api]\nschemas = []\n", []],
  ["functions of the app", '[functions.mail]\nverify_jwt = true\n[api]\nschemas = ["public",]\n', ["public"]],
  ["nothing", "", ["public", "graphql_public"]],
  ["line ends of Windows", '[api]\r\nschemas = ["public"] # ours\r\n\r\n[db]\r\nport = 2\r\n', ["public"]],
  ["a byte order mark", '\ufeff[api]\r\nschemas = ["public"]\r\n', ["public"]],
])(
  "config.toml with %s → add puts functions and schemas into it, once; remove leaves it byte for byte as before",
  (_what, text, exposed) => {
    const before = parse(text) as { api?: object; functions?: object };
    const changed = addToConfig(text, ours);
    expect(parse(changed)).toEqual({
      ...before,
      api: { ...before.api, schemas: [...exposed, ...schemas] },
      functions: { ...before.functions, ...ours.functions },
    });
    if (text.includes("\r\n")) expect(changed.replaceAll("\r\n", "")).not.toContain("\n");
    expect(addToConfig(changed, ours)).toBe(changed);
    expect(removeFromConfig(changed, schemas)).toBe(text);
  },
);

test("tables that the app wrote behind ours in config.toml → stay, also if ours follow a line without an end", () => {
  for (const before of ["[db]\nport = 2", "[db]\nport = 2\n"]) {
    const text = `${addToConfig(before, ours)}[functions.later]\nenabled = true\n`;
    expect(parse(removeFromConfig(text, schemas))).toEqual({
      db: { port: 2 },
      functions: { later: { enabled: true } },
    });
  }
});

test.each([
  ["dotted keys", 'api.schemas = ["public"]\n'],
  ["an inline table", "functions = { mail = { enabled = true } }\n"],
  ["no schemas in [api]", "[api]\nmax_rows = 7\n"],
  ["a comment between a schema of ours and its comma", '[api]\nschemas = [ "keyframe" # a\n , "public" ]\n'],
  ["quotes in a comment behind the last schema", '[api]\nschemas = [\n  "public", # not "mine"\n]\n'],
])("config.toml with %s → refused with what to write by hand", (_what, text) => {
  expect(() => addToConfig(text, ours)).toThrow(InstallError);
  // With ours alone, the app's own would no longer be exposed.
  expect(() => addToConfig(text, ours)).toThrow(
    /as tables of their own, with schemas = \["public", (?:"graphql_public", )?"keyframe", "keyframe_worker"\] in \[api\],/,
  );
});

test("a config.toml that is not TOML → refused with its first error", () => {
  expect(() => addToConfig("[api\n", ours)).toThrow(/config\.toml cannot be read \(.+\)/);
});

const added = addToConfig('[api]\nschemas = ["public"]\n', ours);

test.each<[what: string, edit: (text: string) => string]>([
  ["without its final newline", (text) => text.trimEnd()],
  ["with spaces around its marks", (text) => text.replaceAll("# keyframe:", "  # keyframe:").replace(/$/, " ")],
  ["with our schemas in another place", (text) => text.replace(/schemas = .*/, "schemas = ['keyframe', 'public']")],
])("our block of config.toml %s → removed", (_what, edit) => {
  expect(parse(removeFromConfig(edit(added), schemas))).toEqual({ api: { schemas: ["public"] } });
});

test.each<[what: string, edit: (text: string) => string]>([
  ["without an end", (text) => text.replace(/# keyframe: end.*/, "")],
  ["without a begin", (text) => text.replace(/# keyframe: begin.*/, "")],
  ["twice", (text) => `${text}# keyframe: begin\n`],
  ["with a setting changed", (text) => text.replace("enabled = true", "enabled = false")],
  [
    "with a key behind its end, which belongs to its last table",
    (text) => `${text}\n# mine\nverify_jwt = true\n[db]\nport = 2\n`,
  ],
  ["with a function of the app", (text) => text.replace("# keyframe: end", "[functions.mail]\n# keyframe: end")],
])("our block of config.toml %s → add and remove refuse with what to do", (_what, edit) => {
  for (const command of [() => addToConfig(edit(added), ours), () => removeFromConfig(edit(added), schemas)]) {
    expect(command).toThrow(
      /Keyframe's part of supabase\/config\.toml was edited.*Move.*delete.*run the command again/,
    );
  }
});

test.each([
  ["a text", '[api]\nschemas = "env(SCHEMAS)"\n', 'schemas in [api] must be a list of names, such as ["public"]'],
  ["a number", "[api]\nschemas = 7\n", 'schemas in [api] must be a list of names, such as ["public"]'],
  ["a list of numbers", "[api]\nschemas = [7]\n", 'schemas in [api] must be a list of names, such as ["public"]'],
  ["no table", "api = 7\n", "api must be a table"],
  ["a list", "functions = [7]\n", "functions must be a table"],
  ["a text of buckets", '[storage]\nbuckets = "env(BUCKETS)"\n', "storage.buckets must be a table"],
])("a config.toml where the CLI's own form is %s → refused in one line that names it", (_what, text, said) => {
  for (const change of [() => addToConfig(text, ours), () => removeFromConfig(text, schemas)])
    expect(change).toThrow(
      new InstallError(`supabase/config.toml cannot be read: ${said}. Correct it and run the command again.`),
    );
});

test.each([
  ["20261122000059_a.sql", ["20261122000100", "20261122000101"]],
  ["20261231235958_a.sql", ["20261231235959", "20270101000000"]],
  ["20261122009999_a.sql", ["20261122014040", "20261122014041"]], // no time, but it is there
  ["0007_a.sql", ["20261122000000", "20261122000001"]],
])("migrations added after %s → get valid times, each after the one before", (newest, expected) => {
  const app = { migrations: [newest] } as unknown as App; // all that is read
  const versions = nextVersions(app, new Date("2026-11-22T00:00:00Z"));
  expect([versions.next().value, versions.next().value]).toEqual(expected);
});

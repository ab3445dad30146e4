import { parse } from "smol-toml";
import { expect, test } from "vitest";
import { addToConfig, removeFromConfig } from "../../tools/install/config-toml.ts";
import { InstallError } from "../../tools/install/source.ts";

const schemas = ["keyframe", "keyframe_worker"];
const ours = { functions: { films: { enabled: true, entrypoint: "./functions/films/index.ts" } }, schemas };

const CONFIGS: [what: string, text: string, exposed: string[]][] = [
  ["schemas in one line", '[api]\nport = 1\nschemas = ["public"]\n[db]\nport = 2\n', ["public"]],
  [
    "schemas in lines with comments, brackets and an odd name",
    '[api] # the API\nschemas = [\n  "public", # ] not "the" end\n  \'a"]#b\', \n]\nmax_rows = 7\n',
    ["public", 'a"]#b'],
  ],
  ["no schemas", "[api]\nmax_rows = 7\n\n[api.tls]\nenabled = false\n", ["public", "graphql_public"]],
  ["no table of the API", 'project_id = "a" # with a comment\n[db]\nport = 2', ["public", "graphql_public"]],
  ["an empty list", "[api]\nschemas = []\n", []],
  ["functions of the app", '[functions.mail]\nverify_jwt = true\n[api]\nschemas = ["public",]\n', ["public"]],
  ["nothing", "", ["public", "graphql_public"]],
];

test.each(CONFIGS)(
  "config.toml with %s → functions and schemas are added, once; removed, it is byte for byte as before",
  (_what, text, exposed) => {
    const before = parse(text) as { api?: object; functions?: object };
    const changed = addToConfig(text, ours);
    expect(parse(changed)).toEqual({
      ...before,
      api: { ...before.api, schemas: [...exposed, ...schemas] },
      functions: { ...before.functions, ...ours.functions },
    });
    expect(addToConfig(changed, ours)).toBe(changed);
    expect(removeFromConfig(changed, schemas)).toBe(text);
  },
);

test("tables that the app wrote behind ours → stay, also where ours follow a line without an end", () => {
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
])("config.toml with %s → refused with what to write by hand", (_what, text) => {
  expect(() => addToConfig(text, ours)).toThrow(InstallError);
  expect(() => addToConfig(text, ours)).toThrow(/as tables of their own, with \["keyframe","keyframe_worker"\]/);
});

test("what is no TOML → refused with its first error", () => {
  expect(() => addToConfig("[api\n", ours)).toThrow(/config\.toml cannot be read \(.+\)/);
});

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
  ["an empty list with a comment", "[api]\nschemas = [ # none\n]\n", []],
  ["comments that name ours", '[api]\nschemas = [\n  "public", # "keyframe", not yet\n]\n', ["public"]],
  ["functions of the app", '[functions.mail]\nverify_jwt = true\n[api]\nschemas = ["public",]\n', ["public"]],
  ["nothing", "", ["public", "graphql_public"]],
  ["line ends of Windows", '[api]\r\nschemas = ["public"] # ours\r\n\r\n[db]\r\nport = 2\r\n', ["public"]],
  ["line ends of Windows and no schemas", "[api]\r\nmax_rows = 7\r\n", ["public", "graphql_public"]],
  ["a byte order mark", '\ufeff[api]\r\nschemas = ["public"]\r\n', ["public"]],
  ["mixed line ends", '[api]\r\nschemas = ["public"]\n[db]\r\nport = 2', ["public"]],
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

test("config.toml with line ends of Windows → what is added has them too", () => {
  const changed = addToConfig("[api]\r\nmax_rows = 7\r\n", ours);
  expect(changed.replaceAll("\r\n", "")).not.toContain("\n");
});

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

const added = addToConfig('[api]\nschemas = ["public"]\n', ours);

test.each<[what: string, edit: (text: string) => string]>([
  ["without its final newline", (text) => text.trimEnd()],
  ["with a space behind its end", (text) => text.replace("# keyframe: end", "# keyframe: end ").replace(/$/, " ")],
  ["with an indented begin", (text) => text.replace("# keyframe: begin", "  # keyframe: begin")],
])("our block %s → is taken out", (_what, edit) => {
  const config = parse(removeFromConfig(edit(added), schemas));
  expect(config).toEqual({ api: { schemas: ["public"] } });
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
])("our block %s → add and remove refuse with what to do", (_what, edit) => {
  for (const command of [() => addToConfig(edit(added), ours), () => removeFromConfig(edit(added), schemas)]) {
    expect(command).toThrow(
      /Keyframe's part of supabase\/config\.toml was edited.*Move.*delete.*run the command again/,
    );
  }
});

test("ours stand among the schemas already, with comments before their commas → they go, the comments stay", () => {
  const list = '"keyframe" # a\n  , "public", # b\n  "keyframe_worker" # c\n  , "mine" # d\n';
  const text = `[api]\nschemas = [\n  ${list}]\n`;
  expect(parse(addToConfig(text, ours))).toMatchObject({ api: { schemas: ["public", "mine", ...schemas] } });
  const left = removeFromConfig(text, schemas);
  expect(parse(left)).toEqual({ api: { schemas: ["public", "mine"] } });
  expect(left.match(/# ./g)).toEqual(["# a", "# b", "# c", "# d"]);
});

test("a schema that the app added to our line, and another line with our mark → stay", () => {
  const text = "[api]\nmax_rows = 7 # keyframe: this line\n";
  const edited = addToConfig(text, ours).replace('"graphql_public",', '"graphql_public", "mine",');
  const api = { schemas: ["public", "graphql_public", "mine"], max_rows: 7 };
  expect(parse(removeFromConfig(edited, schemas))).toEqual({ api });
  expect(parse(addToConfig(edited, ours))).toMatchObject({ api: { schemas: [...api.schemas, ...schemas] } });
});

import { expect, test } from "vitest";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { readSchemas } from "../../../tools/version-migration.ts";

const schemas = await readSchemas(PROJECT_ROOT);
/** The statements that begin like this: each with its file. */
const found = (begin: RegExp) =>
  schemas.flatMap(({ file, text }) => [...text.matchAll(begin)].map(([statement]) => ({ file, statement })));

const HEADER =
  /^create function [\w.]+\((?:[^\n]*|\n(?: {2}[^\n]*\n?)+)\)\n((?:returns .*?\s)?language (?:sql|plpgsql) (?:immutable|stable|volatile) .*set search_path = ''.* as \$\w*\$)$/s;
const WIDTH = 140;

test("every function of supabase/schemas → the same form of header: name and parameters, then what it returns and how", () => {
  const headers = found(/^create (?:or replace )?function [\s\S]*?\bas [$'].*/gm);
  expect(headers.length).toBeGreaterThan(200);
  const isInForm = (statement: string) => {
    const [, how] = HEADER.exec(statement) ?? [];
    const lines = how?.split("\n") ?? [];
    return lines.length === 1 || (lines.length > 1 && lines.join(" ").length > WIDTH);
  };
  expect(headers.filter(({ statement }) => !isInForm(statement))).toEqual([]);
});

test("rights, triggers and policies → stand in one file each", () => {
  const files = (begin: RegExp) => [...new Set(found(begin).map(({ file }) => file))];
  expect(files(/^ *(?:grant|revoke) /gm)).toEqual(["99_rights.sql"]);
  expect(files(/^create (?:constraint )?trigger /gm)).toEqual(["90_triggers.sql"]);
  expect(files(/^create policy /gm)).toEqual(["98_policies.sql"]);
});

test("90_triggers.sql → each table once, its triggers in the order in which they fire, which is that of their names", () => {
  const text = schemas.find(({ file }) => file === "90_triggers.sql")?.text ?? "";
  const triggers = [
    ...text.matchAll(/^create (constraint )?trigger (\w+)\s+(before|after)\s[^;]*?\son (\S+)[^;]*;/gm),
  ].map(([statement, , name = "", when = "", table = ""]) => {
    const isRow = statement.includes("for each row");
    const isDeferred = statement.includes("initially deferred");
    const stage = when === "before" ? (isRow ? 1 : 0) : isDeferred ? 4 : isRow ? 2 : 3;
    return { table, name, stage };
  });
  const tables = [...new Set(triggers.map(({ table }) => table))];
  const inOrder = tables.flatMap((table) =>
    triggers.filter((each) => each.table === table).toSorted((a, b) => a.stage - b.stage || (a.name < b.name ? -1 : 1)),
  );
  expect(triggers).toEqual(inOrder);
  for (const table of tables) {
    const names = triggers.filter((each) => each.table === table).map(({ name }) => name);
    expect(names).toEqual(names.toSorted());
  }
  expect(triggers.filter(({ name, stage }) => name < "_500" !== stage < 2)).toEqual([]);
});

import { expect, test } from "vitest";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { readSchemas } from "../../tools/version-migration.ts";

const schemas = await readSchemas(PROJECT_ROOT);
/** The statements that begin like this: each with its file. */
const found = (begin: RegExp) =>
  schemas.flatMap(({ file, text }) => [...text.matchAll(begin)].map(([statement]) => ({ file, statement })));

test("every function of supabase/schemas → has one form of header: name and parameters, then what it returns and how", () => {
  const parameters = String.raw`\((?:[^\n]*|\n(?:  [^\n]*\n?)+)\)`;
  const header = new RegExp(
    String.raw`^create function [\w.]+${parameters}\n(?:returns [^\n]*(?:\n  [^\n]*)*?[ \n])?language (?:sql|plpgsql) (?:immutable|stable|volatile) ` +
      String.raw`(?:strict )?(?:leakproof )?(?:parallel safe )?(?:security \w+ )?(?:\w+ \d+ )*set search_path = ''(?: set [^\n]*)? as \$\w*\$$`,
  );
  const headers = found(/^create (?:or replace )?function [\s\S]*?as \$\w*\$$/gm);
  expect(headers.length).toBeGreaterThan(200);
  expect(headers.filter(({ statement }) => !header.test(statement))).toEqual([]);
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

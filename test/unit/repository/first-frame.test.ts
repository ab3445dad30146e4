import { expect, test } from "vitest";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { readSchemas } from "../../../tools/version-migration.ts";

const FOLDERS: Record<string, string> = { S: "supabase/schemas", F: "supabase/functions" };
const pathOf = (name: string) => name.replace(/^([SF])\//, (_, folder: string) => `${FOLDERS[folder]}/`);
const pathsIn = (text: string) => [...text.matchAll(/`(\w+\/[\w/.-]+\.(?:ts|sql))`/g)].map(([, path = ""]) => path);
const page = await Deno.readTextFile("docs/first-frame.md");
const rows = [...page.matchAll(/^\| (\d+) \| `([^`]+)` \| `(\w+)` \|.*$/gm)];

test("each row of docs/first-frame.md → numbered, and its file defines the function that it names", async () => {
  expect(rows.map(([, number]) => Number(number))).toEqual(Array.from({ length: rows.length }, (_, i) => i + 1));
  expect(rows.length).toBeGreaterThan(20);
  for (const [, , file = "", name = ""] of rows) {
    const text = await Deno.readTextFile(pathOf(file));
    expect(text, file).toMatch(new RegExp(`function (keyframe\\w*\\.)?${name}\\b|const ${name}\\b`));
  }
});

test("each SQL function in a row of docs/first-frame.md → defined in a file that the row names", async () => {
  const schemas = await readSchemas(PROJECT_ROOT);
  const named = rows.flatMap(([row]) =>
    [...row.matchAll(/`(\w+)`/g)].flatMap(([, name = ""]) => {
      const defined = schemas.filter(({ text }) => new RegExp(`^create function \\w+\\.${name}\\(`, "m").test(text));
      return defined.map(({ file }) => ({ name, isNamed: pathsIn(row).includes(`S/${file}`) }));
    }),
  );
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter(({ isNamed }) => !isNamed)).toEqual([]);
});

test("the paths in docs/first-frame.md → files, at most 16 of SQL and 45 of TypeScript", async () => {
  const paths = [...new Set(pathsIn(page))];
  for (const path of paths) await expect(Deno.stat(pathOf(path)), path).resolves.toMatchObject({ isFile: true });
  expect(paths.filter((path) => path.endsWith(".sql")).length).toBeLessThanOrEqual(16);
  expect(paths.filter((path) => path.endsWith(".ts")).length).toBeLessThanOrEqual(45);
});

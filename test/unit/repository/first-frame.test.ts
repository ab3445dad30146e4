import { expect, test } from "vitest";

const FOLDERS: Record<string, string> = { S: "supabase/schemas", F: "supabase/functions" };
const pathOf = (name: string) => name.replace(/^([SF])\//, (_, folder: string) => `${FOLDERS[folder]}/`);

test("docs/first-frame.md → each file exists, and has the function that its row names", async () => {
  const page = await Deno.readTextFile("docs/first-frame.md");
  const rows = [...page.matchAll(/^\| (\d+) \| `([^`]+)` \| `(\w+)` \|/gm)];
  expect(rows.map(([, number]) => Number(number))).toEqual(Array.from({ length: rows.length }, (_, i) => i + 1));
  expect(rows.length).toBeGreaterThan(20);
  for (const [, , file = "", name = ""] of rows) {
    const text = await Deno.readTextFile(pathOf(file));
    expect(text, file).toMatch(new RegExp(`function (keyframe\\w*\\.)?${name}\\b|const ${name}\\b`));
  }
  for (const [, file = ""] of page.matchAll(/`((?:[SF]|shared|worker)\/[\w/.-]+\.(?:ts|sql))`/g))
    await expect(Deno.stat(pathOf(file)), file).resolves.toMatchObject({ isFile: true });
});

import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";

const root = new URL("../../", import.meta.url);
const NAME = /(?:^\s*(?:test|describe)(?:\.\w+)*(?:<[^(]*>)?\(|\)\()\s*(["`])((?:(?!\1).)*)\1,/gm;

test("every title of a test, as written → at most 120 characters", async () => {
  const files = (await readdir(root, { recursive: true })).filter(
    (path) => path.endsWith(".test.ts") && !path.includes("node_modules"),
  );
  const names = await Promise.all(
    files.map(async (path) =>
      [...(await readFile(new URL(path, root), "utf8")).matchAll(NAME)].map(([, , name]) => name),
    ),
  );
  expect(names.flat().length).toBeGreaterThan(files.length);
  expect(names.flat().filter((name = "") => name.length > 120)).toEqual([]);
});

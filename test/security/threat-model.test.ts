import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const root = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), "utf8");

/** The rows of the tables of docs/security.md: threat, what stops it, and the tests as `path › beginning of a name`. */
const rows = read("docs/security.md")
  .split("\n")
  .filter((line) => line.startsWith("| ") && !/^\| (threat|---)/.test(line))
  .map((line) => {
    const [threat = "", stops = "", tests = ""] = line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim());
    return { threat, stops, tests: [...tests.matchAll(/`([^`]+\.test\.ts)`(?: › ([^;]+))?/g)] };
  });

describe("docs/security.md", () => {
  test("the threat model → has a row for each of its parts", () => {
    expect(rows.length).toBeGreaterThan(20);
  });

  test.each(rows)("$threat → says what stops it, and names a test that is there", ({ stops, tests }) => {
    expect(stops.length).toBeGreaterThan(10);
    expect(tests.length).toBeGreaterThan(0);
    for (const [, path = "", name] of tests) {
      expect([path, existsSync(new URL(path, root))]).toEqual([path, true]);
      if (name !== undefined) expect([path, name, read(path).includes(name.trim())]).toEqual([path, name, true]);
    }
  });

  test("every file of test/security → is named in the threat model", () => {
    const named = new Set(rows.flatMap(({ tests }) => tests.map(([, path]) => path)));
    const files = [...Deno.readDirSync(new URL("test/security", root))]
      .map(({ name }) => `test/security/${name}`)
      .filter((path) => path.endsWith(".test.ts") && !path.endsWith("/threat-model.test.ts"));
    expect(files.filter((path) => !named.has(path))).toEqual([]);
  });
});

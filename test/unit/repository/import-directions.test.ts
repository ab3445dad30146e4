import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";

const IMPORT = /\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g;

/** `folder/a → folder/b`: of the files and folders in one folder, which imports which. */
function listArrows(): Map<string, Set<string>> {
  const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], {
    cwd: PROJECT_ROOT,
    encoding: "utf8",
  });
  const arrows = new Map<string, Set<string>>();
  for (const file of listed.split("\n")) {
    if (!/\.tsx?$/.test(file) || file.startsWith("test/") || !existsSync(join(PROJECT_ROOT, file))) continue;
    for (const [, path = ""] of readFileSync(join(PROJECT_ROOT, file), "utf8").matchAll(IMPORT)) {
      const [from, to] = [file.split("/"), join(dirname(file), path).split("/")];
      const end = from.findIndex((part, at) => part !== to[at]) + 1;
      const importer = from.slice(0, end).join("/");
      arrows.set(importer, (arrows.get(importer) ?? new Set()).add(to.slice(0, end).join("/")));
    }
  }
  return arrows;
}

test("a function → imports nothing from another function's folder: code of two functions is shared", () => {
  const functions = [...listArrows()].filter(([importer]) => /^supabase\/functions\/[\w-]+$/.test(importer));
  expect(functions).toEqual([]);
});

// The linter holds it for files, and not for folders.
test("files and folders next to each other → no circular imports, direct or indirect", () => {
  const arrows = listArrows();
  const circles = [...arrows.keys()].filter((start) => {
    const reached = new Set(arrows.get(start));
    for (const each of reached) for (const next of arrows.get(each) ?? []) reached.add(next);
    return reached.has(start);
  });
  expect(arrows.size).toBeGreaterThan(100);
  expect(circles).toEqual([]);
});

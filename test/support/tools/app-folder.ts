import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { readApp } from "../../../tools/install/app.ts";
import { applyChanges, type Changes } from "../../../tools/install/apply-changes.ts";
import { planAdd } from "../../../tools/install/plan-add.ts";
import { planForget, planRemove } from "../../../tools/install/plan-remove.ts";
import { readSource, type Source } from "../../../tools/install/source.ts";

// An app's folder for each test, and two versions of a few of our files. It needs neither the Supabase CLI nor a database.

export const now = new Date("2026-12-01T10:00:00Z");
/** For folders outside the app's. */
export let parent: string;
/** The app's. */
export let folder: string;
export let version1: Source;
export let version2: Source;

export function useAppFolder(): void {
  beforeAll(async () => {
    parent = await mkdtemp(join(tmpdir(), "keyframe-app-folder-"));
    const whole = await readSource(PROJECT_ROOT);
    // A few files of each kind show what all would.
    const few = <T>(map: Map<string, T>, wanted: RegExp) => new Map([...map].filter(([path]) => wanted.test(path)));
    const code = few(whole.code, /(index\.ts|deno\.json|shared\/platform\/[a-d].*)$/);
    const migrationsOf = (versions: number) =>
      new Map(Array.from({ length: versions }, (_, at) => [`0_${at + 1}_0`, `select ${at};\n`]));
    version1 = { ...whole, version: "1", code, migrations: migrationsOf(4) };
    const [first = "", second = "", ...kept] = code.keys();
    version2 = {
      ...whole,
      version: "2",
      code: new Map([
        [first, "// changed\n"],
        [`${dirname(second)}/added.ts`, "// added\n"],
        ...kept.map((path) => [path, code.get(path) ?? ""] as const),
      ]),
      migrations: migrationsOf(6),
    };
  });
  afterAll(() => rm(parent, { recursive: true }));
  beforeEach(async () => void (await freshApp()));
}

/** A new folder, which becomes `folder`. */
export async function freshApp(): Promise<string> {
  const made = await mkdtemp(join(parent, "app-"));
  await put(made, "supabase/config.toml", '[api]\nschemas = ["public"]\n');
  folder = made;
  return made;
}

export async function put(root: string, path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}

type OnChange = Parameters<typeof applyChanges>[2];

export async function add(source: Source, onChange?: OnChange): Promise<void> {
  const app = await readApp(folder, source);
  await applyChanges(
    app,
    await planAdd(source, app, { functionName: undefined, mcp: undefined, force: false, now }),
    onChange,
  );
}

export async function remove(source: Source, onChange?: OnChange, drop: string[] = []): Promise<void> {
  const app = await readApp(folder, source);
  await applyChanges(app, await planRemove(source, app, { force: false, now, drop }), onChange);
}

export async function forget(): Promise<Changes & { versions: string[] }> {
  return planForget(await readApp(folder, version1));
}

/** Path → text of every file; migrations without their time, which an interruption may make later. */
export async function files(at = folder): Promise<[path: string, text: string][]> {
  const entries = await readdir(at, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => !entry.isDirectory()).map(({ parentPath, name }) => join(parentPath, name));
  const read = paths.map(
    async (path): Promise<[string, string]> => [
      path.slice(at.length + 1).replace(/\/\d{14}_/, "/"),
      await readFile(path, "utf8"),
    ],
  );
  return (await Promise.all(read)).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** A disk that is full after this many changes. */
export function fullAfter(changes: number): { onChange: () => void; isUsed: () => boolean } {
  let left = changes;
  return {
    isUsed: () => left < 0,
    onChange: () => {
      if (left-- <= 0) throw new Error("ENOSPC: no space left on device");
    },
  };
}

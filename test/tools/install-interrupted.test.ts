import { chmod, lstat, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { BACKUP, CONFIG, MIGRATIONS, readApp, RECORD, SHARED } from "../../tools/install/app.ts";
import {
  add,
  files,
  folder,
  forget,
  freshApp,
  fullAfter,
  put,
  remove,
  useAppFolder,
  version1,
  version2,
} from "../support/tools/app-folder.ts";
import { runProgram } from "../support/tools/run-command.ts";
import { until } from "../support/until.ts";

// What needs neither the Supabase CLI nor a database: the files that add and remove write, also after an interruption.
useAppFolder();

/** Of all migrations, in order. */
const names = async () =>
  (await readdir(join(folder, MIGRATIONS))).sort().map((file) => file.replace(/^\d+_(keyframe_)?|\.sql$/g, ""));

/** The command in a process of its own. */
const start = (...args: string[]) =>
  runProgram(Deno.execPath(), ["run", "-A", join(PROJECT_ROOT, "tools/install.ts"), ...args, folder]);

test.each<[what: string, prepare: () => Promise<void>, command: (onChange?: () => void) => Promise<void>]>([
  ["a first add", async () => undefined, (onChange) => add(version1, onChange)],
  ["an upgrade", () => add(version1), (onChange) => add(version2, onChange)],
  ["a remove", () => add(version1), (onChange) => remove(version1, onChange)],
])("%s while the disk is full at any of its files → the same command completes it", async (_what, prepare, command) => {
  await prepare();
  await command();
  const whole = await files();
  let interruptions = 0;
  for (let changes = 0; ; changes++) {
    await freshApp();
    await prepare();
    const { onChange, isUsed } = fullAfter(changes);
    const ended = await command(onChange).catch((error: Error) => error.message);
    if (!isUsed()) break;
    interruptions++;
    expect(ended).toMatch(/could not be changed \(ENOSPC.*run the same command again: it continues\.$/);
    await command();
    expect([changes, await files()]).toEqual([changes, whole]);
  }
  expect(interruptions).toBeGreaterThan(6);
});

test("an interrupted upgrade → the next version's add completes it too; a file edited meanwhile is named", async () => {
  await add(version1);
  await add(version2, fullAfter(3).onChange).catch(() => undefined);
  const [path = ""] = [...version1.code.keys()].filter((each) => each.endsWith("keyframe-generate/index.ts"));
  const copied = await readFile(join(folder, path), "utf8");
  await put(folder, path, "// mine\n");
  await expect(add(version2)).rejects.toThrow(`Edited since they were copied: ${path}`);
  await put(folder, path, copied);
  await add({ ...version2, version: "3" });
  expect(JSON.parse(await readFile(join(folder, RECORD), "utf8"))).toMatchObject({ version: "3" });
});

test("an add that is killed while it writes → the next add completes it, as if it had not been killed", async () => {
  const first = start("add");
  await until("its first files", async () => (await lstat(join(folder, RECORD)).catch(() => undefined)) !== undefined);
  first.kill("SIGKILL");
  await first.ended;
  expect(await start("add").ended).toMatchObject({ code: 0 });
  const completed = await files();
  await freshApp();
  expect(await start("add").ended).toMatchObject({ code: 0 });
  expect(completed).toEqual(await files());
});

test("an interrupted remove, then an interrupted add → the next add completes it, and a remove undoes it", async () => {
  for (let added = 0; ; added++) {
    await freshApp();
    const before = await files();
    await add(version1);
    await remove(version1, fullAfter(3).onChange).catch(() => undefined);
    const { onChange, isUsed } = fullAfter(added);
    await add(version1, onChange).catch(() => undefined);
    if (!isUsed()) break;
    await add(version1);
    expect((await readApp(folder, version1)).copies.size).toBe(version1.migrations.size);
    await remove(version1);
    for (const path of (await forget()).remove) await rm(join(folder, path));
    expect(await files()).toEqual(before);
  }
});

test("an interrupted first add, then remove → the folder as before", async () => {
  const before = await files();
  await add(version1, fullAfter(4).onChange).catch(() => undefined);
  expect(await files()).not.toEqual(before);
  await remove(version1);
  expect(await files()).toEqual(before);
});

test("a config.toml that only its owner may read → keeps that mode, as does its backup, also after remove", async () => {
  const modeOf = async (path: string) => (await lstat(join(folder, path))).mode & 0o777;
  await chmod(join(folder, CONFIG), 0o600);
  await add(version1);
  expect([await modeOf(CONFIG), await modeOf(BACKUP)]).toEqual([0o600, 0o600]);
  await remove(version1);
  expect(await modeOf(CONFIG)).toBe(0o600);
});

test("add, remove, add, remove → two removal migrations, each after its copies; a third add copies again", async () => {
  await add(version1);
  await remove(version1);
  expect((await start("add", "--dry-run").ended).said).toMatch(
    /_keyframe_remove\.sql comes first.*deletes all of Keyframe's data.*restore the folder from your version control/,
  );
  await add(version1);
  await remove(version1);
  const copies = [...version1.migrations.keys()];
  const twice = [...copies, "remove", ...copies, "remove"];
  expect(await names()).toEqual(twice);
  const { versions } = await forget();
  expect(versions).toHaveLength(twice.length);
  await add(version1);
  expect(await names()).toHaveLength(twice.length + copies.length);
});

test("a removal not yet pushed → a second remove says so; after a new migration of the app it is moved behind that", async () => {
  const removal = async () => (await files()).find(([path]) => path.endsWith("/keyframe_remove.sql"))?.[1];
  await add(version1);
  await remove(version1);
  await expect(remove(version1)).rejects.toThrow(/already removed.*_keyframe_remove\.sql.*supabase db push/);
  await remove(version1, undefined, ["view public.titles"]);
  const text = await removal();
  expect(text).toContain("array['view public.titles']");
  await put(folder, `${MIGRATIONS}/20991231235959_drop_titles.sql`, "drop view public.titles;\n");
  await expect(remove(version1, fullAfter(1).onChange)).rejects.toThrow("run the same command again");
  await remove(version1);
  expect(await names()).toEqual([...version1.migrations.keys(), "drop_titles", "remove"]);
  expect(await removal()).toBe(text);
});

describe("an app that has Keyframe", () => {
  beforeEach(() => add(version1));
  const copies = async () =>
    (await readdir(join(folder, MIGRATIONS))).filter((file) => file.includes("_keyframe_")).sort();

  test("an app squashes its migrations into one → only newer ones are copied; remove still drops our objects", async () => {
    for (const file of await copies()) await rm(join(folder, MIGRATIONS, file));
    await put(folder, `${MIGRATIONS}/20261201110000_squashed.sql`, 'CREATE SCHEMA IF NOT EXISTS "keyframe_private";\n');
    await add(version2);
    expect(await copies()).toHaveLength(2);
    await remove(version2);
    expect((await copies()).at(-1)).toMatch(/_keyframe_remove\.sql$/);
  });

  test.each<[what: string, own: string | undefined, squashed: number[], deleted: number]>([
    ["a copied migration was deleted", undefined, [], 0],
    ["a pull of the database comes after the copies, and one was deleted", "20261201110000_remote_schema.sql", [], 2],
    ["a squashed migration replaces the first copy, and a later one was deleted", "20251201110000_all.sql", [0], 2],
  ])("%s → named, and not copied again with another time", async (_what, own, squashed, deleted) => {
    const found = await copies();
    for (const at of [...squashed, deleted]) await rm(join(folder, MIGRATIONS, found[at] ?? ""));
    if (own !== undefined) await put(folder, `${MIGRATIONS}/${own}`, "create schema keyframe_private;\n");
    const left = await copies();
    const name = found[deleted]?.replace(/^\d+_/, "");
    await expect(add(version2)).rejects.toThrow(`Copied migrations were deleted: …_${name}. `);
    expect(await copies()).toEqual(left);
  });

  const recorded = { version: "1", functionName: "api", migrations: [], files: {} };
  test.each([
    "{",
    '{"version": "1"}',
    JSON.stringify({ ...recorded, migrations: [7] }),
    JSON.stringify({ ...recorded, files: { "supabase/functions/api/index.ts": "a hash" } }),
    JSON.stringify({ ...recorded, files: { "supabase/functions/../../src/app.ts": ["a hash"] } }),
    JSON.stringify({ ...recorded, files: { "src/app.ts": ["a hash"] } }),
  ])("an app's installed.json is %j → named, nothing changed", async (text) => {
    await put(folder, RECORD, text);
    const before = await files();
    for (const command of [add, remove]) await expect(command(version2)).rejects.toThrow(`${RECORD} is damaged`);
    expect(await files()).toEqual(before);
  });

  test("an app's file where a newer version has one → named, and not replaced", async () => {
    const [added = ""] = [...version2.code.keys()].filter((each) => each.endsWith("/added.ts"));
    const path = added.replace(/^shared/, SHARED);
    await put(folder, path, "// the app's\n");
    await expect(add(version2)).rejects.toThrow(`Edited since they were copied: ${path}`);
  });

  test("the backup of config.toml → stays the one before the first add; edits of config.toml stay after remove", async () => {
    const original = await readFile(join(folder, BACKUP), "utf8");
    await writeFile(join(folder, CONFIG), `${await readFile(join(folder, CONFIG), "utf8")}# mine\n`);
    await add(version2);
    expect(await readFile(join(folder, BACKUP), "utf8")).toBe(original);
    await remove(version2);
    expect(await readFile(join(folder, BACKUP), "utf8")).toBe(original);
    expect(await readFile(join(folder, CONFIG), "utf8")).toBe(`${original}# mine\n`);
  });
});

test.each(["99991231235959", "0042"])(
  "the app's newest migration has the version %s → our migrations come after it, in order",
  async (version) => {
    await put(folder, `${MIGRATIONS}/${version}_far.sql`, "select 1;\n");
    await add(version1);
    expect(await names()).toEqual(["far", ...version1.migrations.keys()]);
  },
);

test("the app's newest migration has the highest version of its length → refused, since no version comes after it", async () => {
  await put(folder, `${MIGRATIONS}/9999_last.sql`, "select 1;\n");
  await expect(add(version1)).rejects.toThrow("The newest migration has the version 9999");
});

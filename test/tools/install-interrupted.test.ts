import { chmod, lstat, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { BACKUP, CONFIG, MIGRATIONS, readApp, RECORD } from "../../tools/install/app.ts";
import { nextVersions } from "../../tools/install/migration-versions.ts";
import type { Disk } from "../../tools/install/apply-changes.ts";
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
vi.setConfig({ testTimeout: 120_000 });
useAppFolder();

/** An installed.json that is whole, as far as its parts are. */
const RECORDED = { version: "1", functionName: "api", migrations: [], files: {} };

/** Of all migrations, in order. */
const names = async () =>
  (await readdir(join(folder, MIGRATIONS))).sort().map((file) => file.replace(/^\d+_(keyframe_)?|\.sql$/g, ""));

/** The command in a process of its own. */
const start = (...args: string[]) =>
  runProgram(Deno.execPath(), ["run", "-A", join(PROJECT_ROOT, "tools/install.ts"), ...args, folder]);

const CASES: [what: string, prepare: () => Promise<void>, command: (disk?: Disk) => Promise<void>][] = [
  ["a first add", async () => undefined, (disk) => add(version1, disk)],
  ["an upgrade", () => add(version1), (disk) => add(version2, disk)],
  ["a remove", () => add(version1), (disk) => remove(version1, disk)],
];

test.each(CASES)(
  "%s that the disk ends at any of its files → the same command completes it",
  async (_what, prepare, command) => {
    await prepare();
    await command();
    const whole = await files();
    let interruptions = 0;
    for (let changes = 0; ; changes++) {
      await freshApp();
      await prepare();
      const { disk, isUsed } = fullAfter(changes);
      const ended = await command(disk).catch((error: Error) => error.message);
      if (!isUsed()) break;
      interruptions++;
      expect(ended).toMatch(
        /could not be changed \(ENOSPC.*\)\. Correct that and run the same command again: it continues\.$/,
      );
      await command();
      expect([changes, await files()]).toEqual([changes, whole]);
    }
    expect(interruptions).toBeGreaterThan(6);
  },
);

test("an upgrade that was interrupted → the next version's add completes it too; a file edited meanwhile is named", async () => {
  await add(version1);
  await add(version2, fullAfter(3).disk).catch(() => undefined);
  const [path = ""] = [...version1.code.keys()].filter((each) => each.endsWith("keyframe-generate/index.ts"));
  const copied = await readFile(join(folder, path), "utf8");
  await put(folder, path, "// mine\n");
  await expect(add(version2)).rejects.toThrow(`Edited since they were copied: ${path}`);
  await put(folder, path, copied);
  await add({ ...version2, version: "3" });
  expect(JSON.parse(await readFile(join(folder, RECORD), "utf8"))).toMatchObject({ version: "3" });
});

test("add after a removal that no database has → says that the removal comes first, and how to undo it", async () => {
  await add(version1);
  await remove(version1);
  const { code, said } = await start("add").ended;
  expect([code, said]).toEqual([
    0,
    expect.stringMatching(
      /_keyframe_remove\.sql comes first.*loses all data.*restore the folder from your version control/,
    ),
  ]);
});

test.each([0, 4])(
  "a first add that was interrupted after %i files, then remove → the folder as it was",
  async (changes) => {
    const before = await files();
    await add(version1, fullAfter(changes).disk).catch(() => undefined);
    expect(await files()).not.toEqual(before);
    await remove(version1);
    expect(await files()).toEqual(before);
  },
);

test("a remove that was interrupted, then an add that was interrupted → the next add completes it, and a remove undoes it", async () => {
  for (const removed of [1, 3]) {
    for (let added = 0; ; added++) {
      await freshApp();
      const before = await files();
      await add(version1);
      await remove(version1, fullAfter(removed).disk).catch(() => undefined);
      const { disk, isUsed } = fullAfter(added);
      await add(version1, disk).catch(() => undefined);
      if (!isUsed()) break;
      await add(version1);
      expect((await readApp(folder, version1)).copies.size).toBe(version1.migrations.size);
      await remove(version1);
      for (const path of (await forget()).remove) await rm(join(folder, path));
      expect(await files()).toEqual(before);
    }
  }
});

test("an add that was killed, then a remove that is killed when its record is gone → no unfinished file is left", async () => {
  await add(version1, fullAfter(3).disk).catch(() => undefined);
  expect(String(await files())).toContain(".keyframe-unfinished");
  const { disk } = fullAfter(Number.POSITIVE_INFINITY);
  const killed = async (path: string) => {
    await disk.remove(path);
    if (path.endsWith(RECORD)) throw new Error("killed");
  };
  await expect(remove(version1, { ...disk, remove: killed })).rejects.toThrow("killed");
  expect(String(await files())).not.toContain(".keyframe-unfinished");
});

test.each([
  ["only its owner may read", 0o600],
  ["is executable", 0o755],
])("a config.toml that %s → stays so, with its backup, also after remove", async (_what, mode) => {
  const modeOf = async (path: string) => (await lstat(join(folder, path))).mode & 0o777;
  await chmod(join(folder, CONFIG), mode);
  await add(version1);
  expect([await modeOf(CONFIG), await modeOf(BACKUP)]).toEqual([mode, mode]);
  await remove(version1);
  expect(await modeOf(CONFIG)).toBe(mode);
});

test("a second command while an add writes → refused, nothing changed; the add is killed → the next one completes it, as if it had not been", async () => {
  const first = start("add");
  await until("its first files", async () => (await lstat(join(folder, RECORD)).catch(() => undefined)) !== undefined);
  first.kill("SIGSTOP");
  // A write that had begun ends after the signal; by the end of this command it has.
  expect(await start("add", "--dry-run").ended).toMatchObject({ code: 0 });
  const before = await files();
  for (const command of [["add"], ["remove", "--yes"]]) {
    expect(await start(...command).ended).toMatchObject({
      code: 1,
      error: expect.stringMatching(
        /^Another add or remove is at work in .* \(process \d+\): run this one when it has ended/,
      ),
    });
  }
  expect(await files()).toEqual(before);
  first.kill("SIGKILL");
  await first.ended;
  expect(await start("add").ended).toMatchObject({ code: 0 });
  const completed = await files();
  await freshApp();
  expect(await start("add").ended).toMatchObject({ code: 0 });
  expect(completed).toEqual(await files());
});

test("add, remove, add, remove → two removals, each behind the copies that it removes; all can be forgotten, and a third add copies anew", async () => {
  for (let round = 0; round < 2; round++) {
    await add(version1);
    await remove(version1);
  }
  const copies = [...version1.migrations.keys()];
  const twice = [...copies, "remove", ...copies, "remove"];
  expect(await names()).toEqual(twice);
  const { versions } = await forget();
  expect(versions).toHaveLength(twice.length);
  await add(version1);
  expect(await names()).toHaveLength(twice.length + copies.length);
});

describe("a removal that no database has yet", () => {
  const removal = async () => (await files()).find(([path]) => path.endsWith("/keyframe_remove.sql"))?.[1];
  beforeEach(async () => {
    await add(version1);
    await remove(version1);
  });

  test("nothing came after it → a second remove says that it is there", async () => {
    await expect(remove(version1)).rejects.toThrow(/removed already.*_keyframe_remove\.sql.*supabase db push/);
  });

  test("a migration of the app came after it → a second remove puts it behind that one, with what it may drop", async () => {
    await remove(version1, undefined, folder, ["view public.titles"]);
    const text = await removal();
    expect(text).toContain("array['view public.titles']");
    await put(folder, `${MIGRATIONS}/20991231235959_drop_titles.sql`, "drop view public.titles;\n");
    await expect(remove(version1, fullAfter(1).disk)).rejects.toThrow("run the same command again");
    await remove(version1);
    expect(await names()).toEqual([...version1.migrations.keys(), "drop_titles", "remove"]);
    expect(await removal()).toBe(text);
  });
});

describe("an app that has Keyframe", () => {
  beforeEach(() => add(version1));
  const copies = async () =>
    (await readdir(join(folder, MIGRATIONS))).filter((file) => file.includes("_keyframe_")).sort();

  test("its SQL has ours, as a dump or a pull leaves it → add goes on", async () => {
    const sql =
      "create schema if not exists \"keyframe\";\ncreate schema keyframe_private;\ninsert into storage.buckets (id) values ('projects');\n";
    await put(folder, "supabase/dump.sql", sql);
    await put(folder, "supabase/migrations/20261201110000_remote_schema.sql", sql);
    await add(version2);
    expect(await copies()).toHaveLength(6);
  });

  test("its migrations are squashed into one → only newer ones are copied; remove drops ours all the same", async () => {
    for (const file of await copies()) await rm(join(folder, MIGRATIONS, file));
    await put(folder, "supabase/migrations/20261201110000_squashed.sql", "create schema keyframe_private;\n");
    await add(version2);
    expect(await copies()).toHaveLength(2);
    await remove(version2);
    expect((await copies()).at(-1)).toMatch(/_keyframe_remove\.sql$/);
  });

  test("a copied migration was deleted → named, and not copied again under another time", async () => {
    const [file = "", ...left] = await copies();
    await rm(join(folder, MIGRATIONS, file));
    const name = file.replace(/^\d+_/, "");
    await expect(add(version2)).rejects.toThrow(`Copied migrations were deleted: …_${name}. `);
    expect(await copies()).toEqual(left);
  });

  test.each([
    ["a pull of the database comes after the copies", "20261201110000_remote_schema.sql", []],
    ["a squashed migration replaces the first copy", "20251201110000_squashed.sql", [0]],
  ])("%s, and a later copy was deleted → named all the same", async (_what, own, squashed) => {
    const found = await copies();
    for (const at of [...squashed, 2]) await rm(join(folder, MIGRATIONS, found[at] ?? ""));
    await put(folder, `${MIGRATIONS}/${own}`, "create schema keyframe_private;\n");
    const name = found[2]?.replace(/^\d+_/, "");
    await expect(add(version2)).rejects.toThrow(`Copied migrations were deleted: …_${name}. `);
  });

  test.each([
    "{",
    "[]",
    "",
    '{"version": "1"}',
    JSON.stringify({ ...RECORDED, migrations: [7] }),
    JSON.stringify({ ...RECORDED, files: { "../src/app.ts": "a hash" } }),
    ...[null, 7, {}, { migrations: [], files: { a: 7 } }, { migrations: 7, files: {} }].map((unfinished) =>
      JSON.stringify({ ...RECORDED, unfinished }),
    ),
  ])("installed.json is %j → named, nothing changed", async (text) => {
    await put(folder, RECORD, text);
    const before = await files();
    for (const command of [add, remove]) await expect(command(version2)).rejects.toThrow(`${RECORD} is damaged`);
    expect(await files()).toEqual(before);
  });

  test("the backup of config.toml → stays the one of before the first add; an edited config.toml keeps it after remove", async () => {
    const backup = join(folder, "supabase/config.toml.before-keyframe");
    const original = await readFile(backup, "utf8");
    const config = join(folder, "supabase/config.toml");
    await writeFile(config, `${await readFile(config, "utf8")}# mine\n`);
    await add(version2);
    expect(await readFile(backup, "utf8")).toBe(original);
    await remove(version2);
    expect(await readFile(backup, "utf8")).toBe(original);
    expect(await readFile(config, "utf8")).toBe(`${original}# mine\n`);
  });
});

test.each(["99991231235959", "20991231235959", "0042"])(
  "the app's newest migration has the version %s → ours come after it, in their order",
  async (version) => {
    await put(folder, `supabase/migrations/${version}_far.sql`, "select 1;\n");
    await add(version1);
    expect(await names()).toEqual(["far", ...version1.migrations.keys()]);
  },
);

test("many migrations at once → each has the time of a second, also over the end of a minute", async () => {
  const app = await readApp(folder, version1);
  const versions = nextVersions(app, new Date("2026-12-31T23:59:58Z"));
  const made = Array.from({ length: 4 }, () => versions.next().value);
  expect(made).toEqual(["20261231235958", "20261231235959", "20270101000000", "20270101000001"]);
});

test("the app's newest migration has the last version of its length → refused, because nothing comes after it", async () => {
  await put(folder, "supabase/migrations/99999999999999_last.sql", "select 1;\n");
  await expect(add(version1)).rejects.toThrow("99999999999999");
});

import { lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { MIGRATIONS, readApp, RECORD, SHARED } from "../../tools/install/app.ts";
import { applyChanges, type Disk } from "../../tools/install/apply-changes.ts";
import { nextVersions } from "../../tools/install/migration-versions.ts";
import { planAdd } from "../../tools/install/plan-add.ts";
import { planForget, planRemove } from "../../tools/install/plan-remove.ts";
import { readSource, type Source } from "../../tools/install/source.ts";
import { runProgram } from "../support/tools/run-command.ts";
import { until } from "../support/until.ts";

// What needs neither the Supabase CLI nor a database: the files that add and remove write.
vi.setConfig({ testTimeout: 120_000 });

const now = new Date("2026-12-01T10:00:00Z");
let parent: string;
let folder: string;
let version1: Source;
let version2: Source;
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), "keyframe-interrupted-"));
  const whole = await readSource(PROJECT_ROOT);
  // A few files of each kind show what all would.
  const few = <T>(map: Map<string, T>, wanted: RegExp) => new Map([...map].filter(([path]) => wanted.test(path)));
  const code = few(whole.code, /(index\.ts|deno\.json|shared\/platform\/[a-d].*)$/);
  version1 = { ...whole, version: "1", code, migrations: new Map([...whole.migrations].slice(0, 4)) };
  const [first = "", second = "", ...kept] = code.keys();
  version2 = {
    ...whole,
    version: "2",
    code: new Map([
      [first, "// changed\n"],
      [`${dirname(second)}/added.ts`, "// added\n"],
      ...kept.map((path) => [path, code.get(path) ?? ""] as const),
    ]),
    migrations: new Map([...whole.migrations].slice(0, 6)),
  };
});
afterAll(() => rm(parent, { recursive: true }));
beforeEach(async () => {
  folder = await freshApp();
});

/** An installed.json that is whole, as far as its parts are. */
const RECORDED = { version: "1", functionName: "api", migrations: [], files: {} };

async function freshApp(): Promise<string> {
  const made = await mkdtemp(join(parent, "app-"));
  await put(made, "supabase/config.toml", '[api]\nschemas = ["public"]\n');
  return made;
}

async function put(root: string, path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}

async function add(source: Source, disk?: Disk, at = folder): Promise<void> {
  const app = await readApp(at, source);
  await applyChanges(app, await planAdd(source, app, { functionName: undefined, force: false, now }), disk);
}

async function remove(source: Source, disk?: Disk, at = folder, drop: string[] = []): Promise<void> {
  const app = await readApp(at, source);
  await applyChanges(app, await planRemove(source, app, { force: false, now, drop }), disk);
}

const forget = async (force = false) => await planForget(await readApp(folder, version1), version1, force);

/** Path → text of every file; migrations without their time, which an interruption may make later. */
async function files(at = folder): Promise<[path: string, text: string][]> {
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

/** A disk that is full after this many changes: the next write leaves half a file under its unfinished name. */
function fullAfter(changes: number): { disk: Disk; isUsed: () => boolean } {
  let left = changes;
  let used = false;
  const count = () => {
    if (left-- > 0) return;
    used = true;
    throw new Error("ENOSPC: no space left on device");
  };
  return {
    isUsed: () => used,
    disk: {
      write: async (path, text) => {
        const unfinished = join(dirname(path), ".keyframe-unfinished");
        await mkdir(dirname(path), { recursive: true });
        await writeFile(unfinished, text.slice(0, text.length / 2));
        count();
        await writeFile(unfinished, text);
        await rename(unfinished, path);
      },
      remove: async (path) => {
        count();
        await rm(path, { force: true });
      },
    },
  };
}

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
      folder = await freshApp();
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
  const script = join(PROJECT_ROOT, "tools/install.ts");
  const { code, said } = await runProgram(Deno.execPath(), ["run", "-A", script, "add", folder]).ended;
  expect([code, said]).toEqual([
    0,
    expect.stringMatching(
      /_keyframe_remove\.sql comes first.*loses all data.*restore the folder from your version control/,
    ),
  ]);
});

test("a first add that was interrupted before it copied a migration, then remove → the folder as it was", async () => {
  const before = await files();
  await add(version1, fullAfter(4).disk).catch(() => undefined);
  expect(await files()).not.toEqual(before);
  await remove(version1);
  expect(await files()).toEqual(before);
});

test("add is killed while it writes → the next one completes it, as if it had not been", async () => {
  const script = join(PROJECT_ROOT, "tools/install.ts");
  const start = () => runProgram(Deno.execPath(), ["run", "-A", script, "add", folder]);
  const killed = start();
  await until("its first files", async () => (await lstat(join(folder, RECORD)).catch(() => undefined)) !== undefined);
  killed.kill("SIGKILL");
  await killed.ended;
  expect(await start().ended).toMatchObject({ code: 0 });
  const other = await freshApp();
  await runProgram(Deno.execPath(), ["run", "-A", script, "add", other]).ended;
  expect(await files()).toEqual(await files(other));
});

test("add, remove, add, remove → two removals, each behind the copies that it removes; all can be forgotten, and a third add copies anew", async () => {
  for (let round = 0; round < 2; round++) {
    await add(version1);
    await remove(version1);
  }
  const names = (await readdir(join(folder, MIGRATIONS)))
    .sort()
    .map((file) => file.replace(/^\d+_keyframe_|\.sql$/g, ""));
  const copies = [...version1.migrations.keys()];
  expect(names).toEqual([...copies, "remove", ...copies, "remove"]);
  const { versions } = await forget();
  expect(versions).toHaveLength(names.length);
  await add(version1);
  expect(await readdir(join(folder, MIGRATIONS))).toHaveLength(names.length + copies.length);
});

test("an older add after an upgrade that was killed → leaves no unfinished file", async () => {
  await add(version1);
  const before = await files();
  for (const changes of [1, 3]) {
    await add(version2, fullAfter(changes).disk).catch(() => undefined);
    expect(String(await files())).toContain(".keyframe-unfinished");
    await add(version1);
    expect(await files()).toEqual(before);
  }
});

describe("a removal that no database has yet", () => {
  const names = async () =>
    (await readdir(join(folder, MIGRATIONS))).sort().map((file) => file.replace(/^\d+_(keyframe_)?|\.sql$/g, ""));
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

test.each([
  ["create our schemas, as a squash leaves them", 'CREATE SCHEMA IF NOT EXISTS "keyframe_private";\n'],
  ["use ours", "create view public.titles as select title from keyframe.projects;\n"],
  [
    "use ours in a function",
    "create function f() returns text language sql as $$ select title from keyframe.projects $$;\n",
  ],
])(
  "remove --migrations while migrations of the app %s → refused by their names; --force deletes ours all the same",
  async (_what, sql) => {
    await add(version1);
    await put(folder, `${MIGRATIONS}/20270101000000_app.sql`, sql);
    await remove(version1);
    await expect(forget()).rejects.toThrow(`${MIGRATIONS}/20270101000000_app.sql. Run \`supabase migration squash\``);
    await put(folder, `${MIGRATIONS}/20270101000000_app.sql`, "-- once keyframe.projects\n");
    expect(await forget()).toEqual(await forget(true));
  },
);

describe("the first add, with SQL of the app", () => {
  const own = "supabase/migrations/20250102030405_own.sql";

  test.each([
    "create schema keyframe_worker",
    'Create Schema If Not Exists "keyframe_worker" Authorization postgres;',
    "create schema if not exists authorization keyframe_worker;",
    "CREATE/* ours */SCHEMA -- yes\n KEYFRAME_WORKER;",
    "alter schema cinema rename to keyframe_worker;",
    "do $$ begin\n  create schema keyframe_worker;\nend $$;",
    "select e'it\\'s' as a, 'it''s' as b, $q$ ' $q$ as c; create schema keyframe_worker;",
  ])("%j → the schema is taken", async (sql) => {
    await put(folder, own, sql);
    await expect(add(version1)).rejects.toThrow(`The schema keyframe_worker is the app's (${own})`);
  });

  test.each([
    "insert into storage.buckets (id, name) values ('projects', 'projects');",
    "INSERT INTO \"storage\" . \"buckets\" /* ; */ (id, name) VALUES ('a', 'b'), ('projects', 'p');",
  ])("%j → the bucket is taken", async (sql) => {
    await put(folder, own, sql);
    await expect(add(version1)).rejects.toThrow(`The bucket projects is the app's (${own})`);
  });

  test.each([
    "/* create schema keyframe; /* create schema keyframe; */ create schema keyframe; */",
    "comment on schema public is 'not create schema keyframe; e''s';",
    "comment on schema public is e'\\'create schema keyframe;';",
    "create function a() returns text language sql as $a$ select 'create schema keyframe' $a$;",
    'create table "create schema keyframe" ();',
    "insert into storage.buckets (id) values ('Projects');",
    'create schema "KEYFRAME"; create schema "keyframe x"; create schema keyframe_of_the_app; create schema a authorization keyframe;',
    "insert into storage.buckets (id) values ('a'); insert into films values ('projects');",
    "select 'insert into storage.buckets values (''projects'')';",
  ])("%j → takes no name of ours", async (sql) => {
    await put(folder, own, sql);
    await add(version1);
  });
});

describe("what stands where files of ours belong", () => {
  test.each([
    ["a file", "supabase/functions/api"],
    ["a file", "supabase/functions/_shared"],
    ["a file", "supabase/functions"],
    ["a file", MIGRATIONS],
    ["a folder", "supabase/functions/api/index.ts"],
    ["a folder", "supabase/config.toml"],
    ["a folder", "supabase/config.toml.before-keyframe"],
  ])("%s is %s → add names it before it writes", async (what, path) => {
    await rm(join(folder, path), { force: true });
    if (what === "a file") await put(folder, path, "the app's\n");
    else await mkdir(join(folder, path), { recursive: true });
    const before = await files();
    await expect(add(version1)).rejects.toThrow(new RegExp(`Nothing was changed.*${path} \\(${what}\\).*[Mm]ove`));
    expect(await files()).toEqual(before);
  });

  test.each(["supabase/functions/api/index.ts", "supabase/config.toml.before-keyframe"])(
    "a folder took the place of %s → remove names it before it removes anything",
    async (path) => {
      await add(version1);
      await rm(join(folder, path));
      await mkdir(join(folder, path));
      const before = await files();
      await expect(remove(version1)).rejects.toThrow(`${path} (a folder)`);
      expect(await files()).toEqual(before);
    },
  );

  test("a config.toml that is not UTF-8 → every command refuses before it writes", async () => {
    for (const prepare of [async () => undefined, () => add(version1)]) {
      await prepare();
      const config = join(folder, "supabase/config.toml");
      const text = await readFile(config);
      const latin1 = Uint8Array.from([...text, ...new TextEncoder().encode("# caf"), 0xe9, 0x0a]);
      await writeFile(config, latin1);
      for (const command of [add, remove]) await expect(command(version1)).rejects.toThrow("not UTF-8");
      expect(new Uint8Array(await readFile(config))).toEqual(latin1);
      await writeFile(config, text);
    }
  });
});

test("a dump with a literal of 20 MB, and a comment without an end → read all the same", async () => {
  const sql = `insert into films values ('${"x".repeat(20_000_000)}'); /* ${"/* a */ ".repeat(10_000)}`;
  await put(folder, "supabase/seed.sql", `${sql}\n`);
  await add(version1);
});

test("config.toml was written anew without our marks → remove names what of ours is left, and changes nothing", async () => {
  await add(version1);
  const config = join(folder, "supabase/config.toml");
  const text = await readFile(config, "utf8");
  await writeFile(config, text.replaceAll(/^#.*\n/gm, "").replace(/^\[api\]\nschemas/m, '[api]\n"schemas"'));
  const before = await files();
  await expect(remove(version1)).rejects.toThrow(
    /Nothing was changed.*\[functions\.api\], .*\[functions\.keyframe-deliver\].*, keyframe, keyframe_worker.*take these out/,
  );
  expect(await files()).toEqual(before);
});

describe("symbolic links", () => {
  const links: [what: string, path: string][] = [
    ["the folder of a function", "supabase/functions/api"],
    ["a file of a function", "supabase/functions/keyframe-generate/index.ts"],
    ["the folder of shared code", SHARED],
    ["config.toml", "supabase/config.toml"],
  ];
  test.each(links)("%s → refused by its path, and what it leads to stays as it is", async (_what, path) => {
    const isFile = /\.\w+$/.test(path);
    const source = join(await mkdtemp(join(parent, "behind-")), "source");
    if (isFile) await writeFile(source, '[api]\nschemas = ["public"]\n');
    else await put(source, "index.ts", "// the app's\n");
    await rm(join(folder, path), { force: true });
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await symlink(source, join(folder, path));
    const before = await files(dirname(source));
    await expect(add(version1)).rejects.toThrow(new RegExp(`symbolic links.*: ${path}\\.`));
    expect(await files(dirname(source))).toEqual(before);
  });

  const whole = ["supabase", "supabase/functions", MIGRATIONS];

  test.each(whole)(
    "%s leads out of the app's folder, or nowhere → refused by every command, nothing changed",
    async (path) => {
      const commands = [add, remove, () => forget()];
      const behind = join(await mkdtemp(join(parent, "behind-")), "source");
      for (const prepare of [async () => undefined, () => add(version1), () => remove(version1)]) {
        await prepare();
        await mkdir(join(folder, path), { recursive: true });
        await rename(join(folder, path), behind);
        await symlink(behind, join(folder, path));
        const before = await files(behind);
        for (const command of commands) {
          await expect(command(version1)).rejects.toThrow(new RegExp(`symbolic links.*: ${path} → .*/source\\.`));
        }
        expect(await files(behind)).toEqual(before);
        await rm(join(folder, path));
        await rename(behind, join(folder, path));
      }
      if (path === "supabase") return;
      await rm(join(folder, path), { recursive: true, force: true });
      await symlink(join(folder, "nowhere"), join(folder, path));
      await expect(add(version1)).rejects.toThrow(`${path} → nothing`);
    },
  );

  test.each(whole)(
    "%s leads to a folder of the app → named; add writes there, and remove leaves the folder",
    async (path) => {
      const elsewhere = join(folder, "elsewhere");
      await mkdir(join(folder, path), { recursive: true });
      await rename(join(folder, path), elsewhere);
      await symlink(elsewhere, join(folder, path));
      expect((await readApp(folder, version1)).links).toEqual([`${path} → elsewhere`]);
      const before = await files(elsewhere);
      await add(version1);
      const added = (await files(elsewhere)).length;
      expect(added).toBeGreaterThan(before.length + 3);
      await remove(version1);
      expect(await files(elsewhere)).toEqual(expect.arrayContaining(before));
      expect((await lstat(join(folder, path))).isSymbolicLink()).toBe(true);
    },
  );

  test("supabase/migrations leads to a folder of the app → names in its migrations are seen as taken", async () => {
    await put(folder, "elsewhere/20250102030405_own.sql", "create schema keyframe;\n");
    await symlink("../elsewhere", join(folder, MIGRATIONS));
    await expect(add(version1)).rejects.toThrow(
      "The schema keyframe is the app's (supabase/migrations/20250102030405_own.sql)",
    );
  });

  test("a function of the app that consists of links only → seen as taken; a link that leads nowhere is no obstacle", async () => {
    await put(folder, "behind/handler.ts", "// the app's\n");
    await mkdir(join(folder, "supabase/functions/keyframe-generate"), { recursive: true });
    await symlink(join(folder, "behind/handler.ts"), join(folder, "supabase/functions/keyframe-generate/handler.ts"));
    await symlink(join(folder, "nowhere.sql"), join(folder, "supabase/seed.sql"));
    await expect(add(version1)).rejects.toThrow("The function keyframe-generate exists: rename yours.");
    await rm(join(folder, "supabase/functions/keyframe-generate"), { recursive: true });
    await add(version1);
  });

  test("one with the temporary name of a file that is written → what it leads to stays as it is", async () => {
    const behind = join(await mkdtemp(join(parent, "behind-")), "source");
    await writeFile(behind, "the app's\n");
    const paths = ["supabase", MIGRATIONS, SHARED];
    for (const path of paths) {
      await mkdir(join(folder, path), { recursive: true });
      await symlink(behind, join(folder, path, ".keyframe-unfinished"));
    }
    await add(version1);
    expect(await readFile(behind, "utf8")).toBe("the app's\n");
    const isRegular = await Promise.all(
      ["supabase/config.toml", RECORD].map(async (path) => (await lstat(join(folder, path))).isFile()),
    );
    expect(isRegular).toEqual([true, true]);
  });

  test("one that took the place of copied code → neither add nor remove touches what is behind it", async () => {
    await add(version1);
    const source = join(await mkdtemp(join(parent, "behind-")), "api");
    await rename(join(folder, "supabase/functions/api"), source);
    await symlink(source, join(folder, "supabase/functions/api"));
    const before = await files(source);
    for (const command of [add, remove]) await expect(command(version1)).rejects.toThrow("supabase/functions/api");
    expect(await files(source)).toEqual(before);
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
    const names = (await readdir(join(folder, MIGRATIONS)))
      .sort()
      .map((file) => file.replace(/^\d+_(keyframe_)?|\.sql$/g, ""));
    expect(names).toEqual(["far", ...version1.migrations.keys()]);
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

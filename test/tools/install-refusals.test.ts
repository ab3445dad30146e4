import { lstat, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { MIGRATIONS, readApp, RECORD, SHARED } from "../../tools/install/app.ts";
import {
  add,
  files,
  folder,
  forget,
  parent,
  put,
  remove,
  useAppFolder,
  version1,
} from "../support/tools/app-folder.ts";

// What needs neither the Supabase CLI nor a database: what add and remove refuse before they write.
vi.setConfig({ testTimeout: 120_000 });
useAppFolder();

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

test("functions, shared code and a bucket of the app under our names → each is named with what to do, and nothing is written", async () => {
  for (const name of ["api", "keyframe-deliver"])
    await put(folder, `supabase/functions/${name}/index.ts`, "Deno.serve(() => new Response());\n");
  await put(folder, `${SHARED}/cut.ts`, "export const cut = 1;\n");
  const config =
    "[functions.keyframe-replicate-webhook]\nverify_jwt = true\n[storage.buckets.keyframe-outputs]\npublic = false\n";
  await put(folder, "supabase/config.toml", config);
  const before = await files();
  const said = await add(version1).catch((error: Error) => error.message);
  for (const line of [
    "The function api exists: give Keyframe's another name with --function-name <name>.",
    "The function keyframe-deliver exists: rename yours.",
    "The function keyframe-replicate-webhook exists: rename yours.",
    `The folder ${SHARED} exists: move it.`,
    "The bucket keyframe-outputs is the app's (supabase/config.toml)",
  ])
    expect(said).toContain(line);
  expect(await files()).toEqual(before);
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

import { lstat, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { BACKUP, CONFIG, MIGRATIONS, RECORD, SHARED } from "../../tools/install/app.ts";
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
import { runCommand } from "../support/tools/run-command.ts";

// What needs neither the Supabase CLI nor a database: what add and remove refuse before they write.
useAppFolder();

/** A folder outside the app's. */
const outside = async () => join(await mkdtemp(join(parent, "behind-")), "source");

test("an app's functions, shared code and bucket have our names → each is named with what to do, and nothing is written", async () => {
  await put(folder, "supabase/functions/api/index.ts", "Deno.serve(() => new Response());\n");
  await put(folder, "behind/handler.ts", "// the app's\n");
  await mkdir(join(folder, "supabase/functions/keyframe-deliver"), { recursive: true });
  await symlink(join(folder, "behind/handler.ts"), join(folder, "supabase/functions/keyframe-deliver/handler.ts"));
  await put(folder, `${SHARED}/cut.ts`, "export const cut = 1;\n");
  const config =
    "[functions.keyframe-replicate-webhook]\nverify_jwt = true\n[storage.buckets.keyframe-outputs]\npublic = false\n";
  await put(folder, CONFIG, config);
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

test.each([
  ["a file", "supabase/functions/api"],
  ["a file", "supabase/functions"],
  ["a file", MIGRATIONS],
  ["a folder", "supabase/functions/api/index.ts"],
  ["a folder", CONFIG],
  ["a folder", BACKUP],
])("%s is %s → add names it before it writes", async (what, path) => {
  await rm(join(folder, path), { force: true });
  if (what === "a file") await put(folder, path, "the app's\n");
  else await mkdir(join(folder, path), { recursive: true });
  const before = await files();
  await expect(add(version1)).rejects.toThrow(new RegExp(`Nothing was changed.*${path} \\(${what}\\).*move`));
  expect(await files()).toEqual(before);
});

test("add --with-mcp --without-mcp → refused: one of them is to be given", async () => {
  const { code, output } = await runCommand("tools/install.ts", ["add", folder, "--with-mcp", "--without-mcp"]).ended;
  expect([code, output]).toEqual([1, "Give --with-mcp or --without-mcp, not both.\n"]);
});

test("remove --migrations --dry-run → names the files, and no command to run before they are deleted", async () => {
  await add(version1);
  await remove(version1);
  const before = await files();
  const { code, output } = await runCommand("tools/install.ts", ["remove", folder, "--migrations", "--dry-run"]).ended;
  expect([code, output]).toEqual([0, expect.stringMatching(/^( {2}would remove {2}supabase\/migrations\/\S+\n)+$/)]);
  expect(await files()).toEqual(before);
});

test("a folder is in the place of a copied file → remove names it before it removes anything", async () => {
  const path = "supabase/functions/api/index.ts";
  await add(version1);
  await rm(join(folder, path));
  await mkdir(join(folder, path));
  const before = await files();
  await expect(remove(version1)).rejects.toThrow(`${path} (a folder)`);
  expect(await files()).toEqual(before);
});

test("a config.toml that is not UTF-8 → every command refuses before it writes", async () => {
  await add(version1);
  const config = join(folder, CONFIG);
  const latin1 = Uint8Array.from([...(await readFile(config)), ...new TextEncoder().encode("# caf"), 0xe9, 0x0a]);
  await writeFile(config, latin1);
  for (const command of [add, remove]) await expect(command(version1)).rejects.toThrow("not UTF-8");
  expect(new Uint8Array(await readFile(config))).toEqual(latin1);
});

test("config.toml was rewritten without our marks → remove names our settings that are left, and changes nothing", async () => {
  await add(version1);
  const config = join(folder, CONFIG);
  const text = await readFile(config, "utf8");
  await writeFile(config, text.replaceAll(/^#.*\n/gm, "").replace(/^\[api\]\nschemas/m, '[api]\n"schemas"'));
  const before = await files();
  await expect(remove(version1)).rejects.toThrow(
    /Nothing was changed.*\[functions\.api\], .*\[functions\.keyframe-deliver\].*, keyframe, keyframe_worker.*remove these/,
  );
  expect(await files()).toEqual(before);
});

describe("symbolic links", () => {
  test.each([
    ["the folder of a function", "supabase/functions/api"],
    ["a file of a function", "supabase/functions/keyframe-generate/index.ts"],
    ["the folder of shared code", SHARED],
    ["config.toml", CONFIG],
    ["config.toml, to a file of the app", CONFIG],
  ])("%s → refused by its path, and the link's target is unchanged", async (what, path) => {
    const source = what.endsWith("of the app") ? join(folder, "behind") : await outside();
    if (/\.\w+$/.test(path)) await writeFile(source, '[api]\nschemas = ["public"]\n');
    else await put(source, "index.ts", "// the app's\n");
    await rm(join(folder, path), { force: true });
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await symlink(source, join(folder, path));
    const before = await files(dirname(source));
    await expect(add(version1)).rejects.toThrow(`${path} (a link to ${source})`);
    expect(await files(dirname(source))).toEqual(before);
  });

  const whole = ["supabase", "supabase/functions", MIGRATIONS];

  test.each(whole)("%s is a link out of the app's folder → refused by every command, nothing changed", async (path) => {
    const behind = await outside();
    for (const [prepare, command] of [
      [async () => undefined, add],
      [() => add(version1), remove],
      [() => remove(version1), () => forget()],
    ] as const) {
      await prepare();
      await mkdir(join(folder, path), { recursive: true });
      await rename(join(folder, path), behind);
      await symlink(behind, join(folder, path));
      const before = await files(behind);
      await expect(command(version1)).rejects.toThrow(`${path} (a link to ${behind})`);
      expect(await files(behind)).toEqual(before);
      await rm(join(folder, path));
      await rename(behind, join(folder, path));
    }
  });

  test.each(whole)(
    "%s is a link to a folder of the app → add writes there, and remove leaves the folder",
    async (path) => {
      const elsewhere = join(folder, "elsewhere");
      await mkdir(join(folder, path), { recursive: true });
      await rename(join(folder, path), elsewhere);
      await symlink(elsewhere, join(folder, path));
      const before = await files(elsewhere);
      await add(version1);
      expect((await files(elsewhere)).length).toBeGreaterThan(before.length + 3);
      await remove(version1);
      expect(await files(elsewhere)).toEqual(expect.arrayContaining(before));
      expect((await lstat(join(folder, path))).isSymbolicLink()).toBe(true);
    },
  );

  test("a symbolic link with the temporary name of a written file → its target is unchanged", async () => {
    const behind = await outside();
    await writeFile(behind, "the app's\n");
    await symlink(behind, join(folder, "supabase/.keyframe-unfinished"));
    await add(version1);
    expect(await readFile(behind, "utf8")).toBe("the app's\n");
    expect((await lstat(join(folder, RECORD))).isFile()).toBe(true);
  });
});

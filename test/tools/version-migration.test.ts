import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { readMigrations } from "../../local/stack/read-migrations.ts";
import { readSchemas, releaseLine, versionMigration, writeVersionMigration } from "../../tools/version-migration.ts";

const read = (path: string) => readFile(join(PROJECT_ROOT, path), "utf8");

test("supabase/migrations → the last is what `npm run schema` makes, and no released one has changed", async () => {
  const migrations = await readMigrations();
  const { version } = JSON.parse(await read("package.json"));
  const changelog = await read("CHANGELOG.md");
  const made = versionMigration({
    version,
    migrations,
    schemas: await readSchemas(PROJECT_ROOT),
    changelog,
    now: new Date(),
  });
  expect(migrations.at(-1)).toMatchObject(made);
});

describe("a version", () => {
  const now = new Date("2027-02-01T10:20:30Z");
  const schemas = [
    { file: "10_films/10_films.sql", text: "create table films ();\n" },
    { file: "99_rights.sql", text: "grant select on films to authenticated;\n" },
  ];
  const make = (version: string, migrations: { file: string; text: string }[] = [], changelog = "") =>
    versionMigration({ version, migrations, schemas, changelog, now });
  const first = { ...make("0.1.0"), file: "20270101000000_keyframe_0_1_0.sql" };
  const released = (one = first) =>
    `# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2027-01-01\n\n${releaseLine(one)}\n\n### For an app\n`;

  test("the first version's migration → all of supabase/schemas in order, then the version; rewritten until its release", () => {
    expect(first.text).toMatch(/create table films \(\);.*grant select.*\('0\.1\.0'\);\n$/s);
    expect(make("0.1.0", [{ ...first, text: "old" }])).toEqual(first);
  });

  test("a later version's migration → begins empty, after the others; edits by hand stay, and its end is rewritten", () => {
    const begun = make("0.1.1", [first], released());
    expect(begun.file).toBe("20270201102030_keyframe_0_1_1.sql");
    expect(begun.text).not.toContain("create table");
    const written = { ...begun, text: begun.text.replace("\n\n", "\n\nalter table films add title text;\n\n") };
    const old = { ...written, text: written.text.replace("grant select", "grant all") };
    expect(make("0.1.1", [first, old], released())).toEqual(written);
    expect(written.text).toMatch(/alter table.*grant select.*\('0\.1\.1'\);\n$/s);
  });

  test.each<[what: string, version: string, files: { file: string; text: string }[]]>([
    ["a later version in an older file", "0.1.1", [{ file: "20260101000000_keyframe_0_1_1.sql", text: "" }, first]],
    ["two files of one version", "0.1.1", [first, { file: "20270102000000_keyframe_0_1_0.sql", text: "select 1;\n" }]],
    ["a version before the last one", "0.0.9", [first]],
  ])("%s → refused: a version has one file, in order", (_what, version, files) => {
    expect(() => make(version, files, released())).toThrow("each version has one file, in order");
  });

  test("a released migration is edited, even in its spaces, renamed or lost → refused, naming it", () => {
    const edited = ["select 1;\n", ";", " ", "\n"].map((more) => [{ ...first, text: `${first.text}${more}` }]);
    for (const files of [...edited, [{ ...first, file: "20270103000000_keyframe_0_1_0.sql" }], []]) {
      for (const version of ["0.1.0", "0.1.1"]) {
        expect(() => make(version, files, released())).toThrow(`${first.file} was edited, renamed or lost`);
      }
    }
  });

  test.each([
    ["of a version whose heading CHANGELOG.md has lost", first],
    ["of a version that was begun and not released", { file: "20270102000000_keyframe_0_1_1.sql", text: "" }],
    ["of no version", { file: "20270102000000_hotfix.sql", text: "" }],
  ])("a migration %s → refused, naming it", (_whose, one) => {
    expect(() => make("0.1.2", [one], "# Changelog\n")).toThrow(`${one.file} is neither of a version`);
  });

  test("the schemas change after a release, without a new version → refused", () => {
    const before = { ...first, text: first.text.replace("films ()", "movies ()") };
    expect(() => make("0.1.0", [before], released(before))).toThrow(/0\.1\.0 is released: raise the version/);
  });

  test("a heading of CHANGELOG.md without the digest of its migration → refused with the line to write", () => {
    const line = `Write below the heading [0.1.0] of CHANGELOG.md: ${releaseLine(first)}`;
    expect(() => make("0.1.0", [first], "\n## [0.1.0] - 2027-01-01\n")).toThrow(line);
  });

  test("a checkout whose line endings git has converted → the same migration", async () => {
    const root = await Deno.makeTempDir({ prefix: "keyframe-version-" });
    onTestFinished(() => Deno.remove(root, { recursive: true }));
    for (const [path, text] of Object.entries({
      "package.json": '{"version": "0.1.0"}',
      "CHANGELOG.md": released(),
      [`supabase/migrations/${first.file}`]: first.text,
      ...Object.fromEntries(schemas.map(({ file, text }) => [`supabase/schemas/${file}`, text])),
      "shared/platform/schema-version.ts": "",
    })) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text.replaceAll("\n", "\r\n"));
    }
    expect(await writeVersionMigration(root, now)).toBe(first.file);
    expect(await readFile(join(root, "supabase/migrations", first.file), "utf8")).toBe(first.text);
  });
});

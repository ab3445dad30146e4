import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { readMigrations } from "../../local/stack/read-migrations.ts";
import { SCHEMA_VERSION } from "../../shared/platform/schema-version.ts";
import { migrationDigest } from "../../tools/digests.ts";
import { readSchemas, versionMigration } from "../../tools/version-migration.ts";

const read = (path: string) => readFile(join(PROJECT_ROOT, path), "utf8");

test("supabase/migrations → has one for each version, the last as `npm run schema` makes it, and no released one has changed", async () => {
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
  expect(migrations.filter(({ name }) => !/^keyframe_\d+_\d+_\d+$/.test(name))).toEqual([]);
  expect(SCHEMA_VERSION).toBe(version);
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
  const released = (text = first.text) =>
    `# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2027-01-01\n\nMigration: SHA-256 ${migrationDigest(text)}\n\n### For an app\n`;

  test("the first one → all of supabase/schemas in order, then the version; until its release made anew under the same name", () => {
    expect(first.text).toMatch(/create table films \(\);.*grant select.*\('0\.1\.0'\);\n$/s);
    expect(make("0.1.0", [{ ...first, text: "old" }])).toEqual(first);
  });

  test("a later one → begins empty, after the others; what is written by hand stays, and its end is made anew", () => {
    const begun = make("0.1.1", [first], released());
    expect(begun.file).toBe("20270201102030_keyframe_0_1_1.sql");
    expect(begun.text).not.toContain("create table");
    const written = { ...begun, text: begun.text.replace("\n\n", "\n\nalter table films add title text;\n\n") };
    const old = { ...written, text: written.text.replace("grant select", "grant all") };
    expect(make("0.1.1", [first, old], released())).toEqual(written);
    expect(written.text).toMatch(/alter table.*grant select.*\('0\.1\.1'\);\n$/s);
  });

  test("a later one that is older by its name than the one before → refused", () => {
    const older = { file: "20260101000000_keyframe_0_1_1.sql", text: "" };
    expect(() => make("0.1.1", [older, first], released())).toThrow("is newer than 20260101000000_keyframe_0_1_1.sql");
  });

  test("a released migration was edited → refused by its name, under the same version and the next one", () => {
    const edited = { ...first, text: `${first.text}select 1;\n` };
    for (const version of ["0.1.0", "0.1.1"]) {
      expect(() => make(version, [edited], released())).toThrow("20270101000000_keyframe_0_1_0.sql was edited or lost");
    }
  });

  test("the schemas changed after a release, without a new version → refused", () => {
    const before = { ...first, text: first.text.replace("films ()", "movies ()") };
    expect(() => make("0.1.0", [before], released(before.text))).toThrow(/0\.1\.0 is released: raise the version/);
  });

  test("a heading of CHANGELOG.md without the digest of its migration → refused with the line to write", () => {
    const line = `Write below the heading [0.1.0] of CHANGELOG.md: Migration: SHA-256 ${migrationDigest(first.text)}`;
    expect(() => make("0.1.0", [first], "\n## [0.1.0] - 2027-01-01\n")).toThrow(line);
  });
});

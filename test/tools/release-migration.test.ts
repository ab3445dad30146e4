import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { SCHEMA_VERSION } from "../../shared/platform/schema-version.ts";
import { readMigrations } from "../../local/stack/read-migrations.ts";
import { releaseMigration } from "../../tools/release-migration.ts";

const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), "utf8");

// From the first heading `## [x.y.z]` in CHANGELOG.md on, this test holds the migrations of that version fixed.
test("supabase/migrations → end with that of package.json's version, which notes all others (run `npm run schema`)", async () => {
  const migrations = await readMigrations();
  const { version } = JSON.parse(await read("package.json"));
  const last = migrations.at(-1);
  const rights = last?.text.slice(last.text.indexOf("select keyframe_private.revoke_all_rights()")).trimEnd() ?? "";
  const { file, text } = releaseMigration(migrations, version, await read("CHANGELOG.md"), rights);
  expect(last).toMatchObject({ file, text });
  expect(SCHEMA_VERSION).toBe(version);
});

describe("after a release", () => {
  const CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2027-01-01\n";
  const made = (version: string, text: string) => ({ version, file: `${version}_a.sql`, text });
  const release = (migrations: { file: string; text: string }[], version: string, changelog = CHANGELOG) => {
    const { file, text } = releaseMigration(migrations, version, changelog, "");
    return [...migrations, { version: file.slice(0, 14), file, text }];
  };
  const first = made("20270101000000", "create table a ();");

  test("a new migration and a new version → another file behind the released one's, which stays", () => {
    const released = release([first], "0.1.0", "");
    expect(releaseMigration(released, "0.1.0", CHANGELOG, "")).toMatchObject({
      file: "20270101000100_release_0_1_0.sql",
    });
    const next = release(
      [...released, { ...made("20270201000000", "select 1;"), file: "20270201000000_b.sql" }],
      "0.2.0",
    );
    expect(next.map(({ file }) => file)).toEqual([
      "20270101000000_a.sql",
      "20270101000100_release_0_1_0.sql",
      "20270201000000_b.sql",
      "20270201000100_release_0_2_0.sql",
    ]);
    expect(next.at(-1)?.text).toMatch(/"a": "\w{64}",\n {2}"release_0_1_0": "\w{64}",\n {2}"b": "\w{64}"/);
  });

  test("a released migration was edited → refused by its name, under the same version and the next one", () => {
    const released = release([first], "0.1.0", "").map((each) =>
      each.file === first.file ? { ...each, text: "create table b ();" } : each,
    );
    for (const version of ["0.1.0", "0.2.0"]) {
      expect(() => releaseMigration(released, version, CHANGELOG, "")).toThrow(
        /released version changed \(a.*raise the version/,
      );
    }
  });

  test("a new migration without a new version → refused", () => {
    const released = release([first], "0.1.0", "");
    const later = { ...made("20270201000000", "select 1;"), file: "20270201000000_b.sql" };
    expect(() => releaseMigration([...released, later], "0.1.0", CHANGELOG, "")).toThrow(
      /\(0\.1\.0\).*raise the version/,
    );
  });
});

import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { releaseLine } from "../../tools/version-migration.ts";
import { copyCheckout } from "../support/tools/copy-checkout.ts";
import { runProgram } from "../support/tools/run-command.ts";

// A copy of this checkout that is ready for its release: with a date and a digest in CHANGELOG.md, an owner, and
// pages that know of it.

let folder: string;
let clone: string;
let version: string;
const read = (path: string) => readFile(join(clone, path), "utf8");
const write = (path: string, text: string) => writeFile(join(clone, path), text);
async function git(...args: string[]): Promise<string> {
  const identity = ["-c", "user.name=A person", "-c", "user.email=person@example.com"];
  const { code, output } = await runProgram("git", [...identity, ...args], {}, clone).ended;
  expect([code, output]).toEqual([0, expect.any(String)]);
  return output;
}
const commit = async () => {
  await git("add", "--all");
  await git("commit", "--quiet", "--message", "A change");
};
const checkIn = (env: Record<string, string>, ...args: string[]) =>
  runProgram(Deno.execPath(), ["run", "-A", "tools/release-check.ts", ...args], env, clone).ended;
const check = (...args: string[]) => checkIn({}, ...args);
const runSetOwner = () => runProgram(Deno.execPath(), ["run", "-A", "tools/set-owner.ts", "someone"], {}, clone).ended;

const MIGRATION = /_keyframe_[\d_]+\.sql$/;
const lastMigration = async () => (await readdir(join(clone, "supabase/migrations"))).sort().at(-1) ?? "";
const heading = () => `## [${version}] - 2030-01-31`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "keyframe-release-test-"));
  clone = join(folder, "keyframe");
  await copyCheckout(clone);
  ({ version } = JSON.parse(await read("package.json")) as { version: string });
  const file = await lastMigration();
  expect(file).toMatch(MIGRATION);
  const line = releaseLine({ file, text: await read(`supabase/migrations/${file}`) });
  const changelog = await read("CHANGELOG.md");
  const released = new RegExp(`^## \\[${version}\\].*(\\n+Migration: .*)?$`, "m");
  const replaces = released.test(changelog) ? released : /^## \[Unreleased\].*$/m;
  await write("CHANGELOG.md", changelog.replace(replaces, `${heading()}\n\n${line}`));
  expect(await runSetOwner()).toMatchObject({ code: 0 });
  const pages = ["README.md", "SECURITY.md", "client/README.md", "docs/compare.md", "examples/vite-react/README.md"];
  for (const path of [...pages, "llms.txt", "site/index.md"])
    await write(path, (await read(path)).replaceAll(/(no release|on npm) yet/g, ""));
  await git("init", "--quiet", "--initial-branch", "main");
  await commit();
  await git("tag", "ready");
});
beforeEach(async () => {
  await git("switch", "--quiet", "--force-create", "main", "ready");
  await git("clean", "--quiet", "--force", "-d");
});
afterAll(() => rm(folder, { recursive: true }));

test("npm run release:check → all checks pass, both packages are built, and what was not checked is named", async () => {
  const { code, output } = await check("--pack", join(folder, "packed"));
  expect([code, output]).toEqual([0, expect.stringContaining("npm run chaos -- --scenarios all")]);
  expect((await readdir(join(folder, "packed"))).sort()).toEqual([
    `keyframe-client-${version}.tgz`,
    `keyframe-supabase-${version}.tgz`,
  ]);
});

const replaced = async (path: string, from: string | RegExp, to: string) => {
  const text = await read(path);
  expect(text.replace(from, to)).not.toBe(text);
  await write(path, text.replace(from, to));
  await commit();
};

test.each<[what: string, change: () => Promise<unknown>, said: string]>([
  ["a file is not committed", () => write("left.md", ""), "Commit or remove: ?? left.md"],
  ["the branch is another", () => git("switch", "--quiet", "--create", "other"), "git switch main"],
  ["CHANGELOG.md has no date", () => replaced("CHANGELOG.md", ` - 2030-01-31`, ""), "Give it the heading"],
  ["CHANGELOG.md lacks the digest", () => replaced("CHANGELOG.md", /^Migration: .*$/m, ""), "Write below the heading"],
  [
    "the released migration was edited",
    async () => replaced(`supabase/migrations/${await lastMigration()}`, /$/, "select 1;\n"),
    "was edited, renamed or lost",
  ],
  ["a schema was edited", () => replaced("supabase/schemas/99_rights.sql", /$/, "select 1;\n"), "is released: raise"],
  [
    "the owner is not set",
    () => replaced("README.md", /$/, "https://github.com/<an owner>/keyframe\n"), // set-owner changes <owner> here, too
    "npm run set-owner -- <name>, for README.md",
  ],
  [
    "a command lacks the owner",
    () => replaced(".github/release.md", /$/, '--repo "<an owner>/keyframe"\n'),
    "npm run set-owner -- <name>, for .github/release.md",
  ],
  [
    "a page says that nothing is released",
    () => replaced("client/README.md", /$/, "It is not on npm yet.\n"),
    "Correct what client/README.md says.",
  ],
  [
    "the client has another version",
    () => replaced("client/package.json", /"version": "[^"]*"/, '"version": "9.9.9"'),
    "They are keyframe-client-9.9.9.tgz and",
  ],
])("%s → exit 1, and what to do", async (_what, change, said) => {
  await change();
  const { code, output } = await check();
  expect([code, output]).toEqual([1, expect.stringContaining(said)]);
});

test("a pushed tag of another version, or of a commit that main does not have → exit 1", async () => {
  expect((await check("--tag", "v9.9.9")).output).toContain(`v9.9.9 was pushed, and package.json has ${version}.`);
  await git("update-ref", "refs/remotes/origin/main", "main");
  await write("more.md", "");
  await commit();
  const { code, output } = await check("--tag", `v${version}`);
  expect([code, output]).toEqual([1, expect.stringContaining("origin/main does not have this commit")]);
});

test("a workflow of another repository than the packages name → exit 1: npm would refuse their origin", async () => {
  const { code, output } = await checkIn({ GITHUB_REPOSITORY: "nobody/keyframe" });
  expect([code, output]).toEqual([1, expect.stringContaining("does not name nobody/keyframe as its repository")]);
});

import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { outputOf } from "../command-line/output-of.ts";
import { oneLine, parseOptions, runMain } from "../command-line/run-main.ts";
import { PROJECT_ROOT } from "../local/stack/project-root.ts";
import { SCHEMA_VERSION } from "../shared/platform/schema-version.ts";
import { readVersion, versionMigration } from "./version-migration.ts";

const HELP = `npm run release:check -- [options]   checks whether this commit can be released as the version in package.json

  --tag TAG    in a workflow: the tag that was pushed, instead of the branch main
  --pack DIR   leave the two packages in this folder

  It changes nothing else. Exits with 0 when everything holds, 1 when something does not. See .github/release.md.`;

const NOT_CHECKED = `
Not checked here:
  npm run ok                           the workflow Release runs it again
  npm run chaos -- --scenarios all
  npm run bench -- --write
  npm test -- --mode runtimes, engines and mcp
  docs/first-run.md                    what needs accounts`;

/** Returns what is wrong and what to do, or nothing when it holds. */
type Check = [what: string, find: () => Promise<string | false>];

async function main(): Promise<number> {
  const { tag, pack } = parseOptions({
    args: Deno.args,
    options: { tag: { type: "string" }, pack: { type: "string" } },
  }).values;
  const given = await readVersion(PROJECT_ROOT);
  const { version } = given;
  console.log(`Keyframe ${version}`);
  const isRight = await report([
    ["everything is committed", findUncommitted],
    [tag === undefined ? "the branch is main" : "the tag names the version, on main", () => findPlace(version, tag)],
    ["CHANGELOG.md has the version, its date and its migration", async () => findChangelog(given)],
    ["the owner's name is set", findOwner],
    ["no page says that nothing is released", findUnreleased],
  ]);
  if (!isRight) return 1;
  const folder = pack === undefined ? await mkdtemp(join(tmpdir(), "keyframe-release-")) : resolve(pack);
  try {
    if (!(await report([["both packages pack", () => findPackages(folder, version)]]))) return 1;
  } finally {
    if (pack === undefined) await rm(folder, { recursive: true });
  }
  console.log(NOT_CHECKED);
  return 0;
}

async function report(checks: Check[]): Promise<boolean> {
  let isRight = true;
  for (const [what, find] of checks) {
    const problem = await find().catch(oneLine);
    console.log(problem === false ? `  yes  ${what}` : `  NO   ${what}\n       ${problem}`);
    isRight &&= problem === false;
  }
  return isRight;
}

async function findUncommitted(): Promise<string | false> {
  const changed = await run("git", "status", "--porcelain");
  return changed !== "" && `Commit or remove: ${oneLine(changed)}`;
}

async function findPlace(version: string, tag: string | undefined): Promise<string | false> {
  if (tag === undefined) {
    if ((await run("git", "branch", "--show-current")) !== "main")
      return "Releases are made from main: git switch main.";
    const made = await run("git", "tag", "--list", `v${version}`);
    return made !== "" && `${made} exists already: raise the version in package.json.`;
  }
  if (tag !== `v${version}`) return `${tag} was pushed, and package.json has ${version}.`;
  await run("git", "merge-base", "--is-ancestor", "HEAD", "origin/main").catch(() => {
    throw new Error("origin/main does not have this commit: merge it, then move the tag.");
  });
  return false;
}

/** Throws when a released migration was edited or its digest is not in CHANGELOG.md. */
function findChangelog(given: Awaited<ReturnType<typeof readVersion>>): string | false {
  const { version, migrations, changelog } = given;
  const made = versionMigration({ ...given, now: new Date() });
  const isMade = migrations.some(({ file, text }) => file === made.file && text === made.text);
  if (!isMade || SCHEMA_VERSION !== version) return "The migration is not current: npm run schema.";
  const headings = changelog.match(/^## .*$/gm) ?? [];
  const isDated = headings.some((line) => /^\d{4}-\d\d-\d\d$/.test(line.replace(`## [${version}] - `, "")));
  return !isDated && `Give it the heading ## [${version}] - <year>-<month>-<day>, then npm run schema.`;
}

async function findOwner(): Promise<string | false> {
  const found = await filesWith('(github\\.com/|--repo "|shadcn@latest add ")<');
  return found !== "" && `npm run set-owner -- <name>, for ${found}`;
}

/** npm never changes the page of a published version. */
async function findUnreleased(): Promise<string | false> {
  const found = await filesWith("no release yet|on npm yet|not public yet", ":!.github/release.md");
  return found !== "" && `Correct what ${found} says.`;
}

async function filesWith(pattern: string, ...except: string[]): Promise<string> {
  // Tools and tests may speak of what is to be filled in.
  const find = ["grep", "-lE", "-e", pattern, "--", ".", ":!tools", ":!test", ...except];
  const found = await run("git", ...find).catch((error: Error) => {
    if (error.cause === 1) return ""; // nowhere
    throw error;
  });
  return oneLine(found);
}

async function findPackages(folder: string, version: string): Promise<string | false> {
  await run(Deno.execPath(), "run", "-A", "tools/package.ts", folder);
  await run("npm", "pack", "./client", "--pack-destination", folder);
  const names = ["keyframe-client", "keyframe-supabase"].map((name) => `${name}-${version}.tgz`);
  const packed = (await readdir(folder)).sort();
  if (packed.join() !== names.join()) return `They are ${packed.join(" and ")}, not ${names.join(" and ")}.`;
  const repository = Deno.env.get("GITHUB_REPOSITORY");
  if (repository === undefined) return false;
  for (const name of names) {
    const described = await run("tar", "xzOf", join(folder, name), "package/package.json");
    // npm refuses a package whose provenance is of another repository.
    if (!described.includes(`github.com/${repository}.git"`))
      return `${name} does not name ${repository} as its repository.`;
  }
  return false;
}

const run = (program: string, ...args: string[]) => outputOf(program, args, { cwd: PROJECT_ROOT });

runMain(HELP, main);

import { readFile, writeFile } from "node:fs/promises";
import { outputOf } from "../command-line/output-of.ts";
import { parseOptions, runMain } from "../command-line/run-main.ts";

const HELP = `npm run set-owner -- NAME   writes the GitHub account that owns the repository into every link to it

  Again: replaces <owner>, and the name before, which it reads from "repository" in package.json.`;

/**
 * The forms of the repository in addresses, even of the site, and in commands of npm and shadcn, which are quoted: an unquoted `<` would
 * read a file in a shell.
 */
const named = (owner: string) =>
  `(github[.]com/|--repo "|shadcn@latest add "|https://)(<owner>|${owner})(/keyframe|[.]github[.]io/keyframe)`;

async function main(): Promise<number> {
  const [name = "", ...more] = parseOptions({ args: Deno.args, allowPositionals: true }).positionals;
  if (more.length > 0 || !/^(?!.*--)[a-z\d](?:[a-z\d-]{0,37}[a-z\d])?$/i.test(name)) {
    const given = [name, ...more].join(" ");
    throw new Error(`"${given}" is not a GitHub account: letters, digits and single hyphens between them, at most 39.`);
  }
  const { repository } = JSON.parse(await readFile("package.json", "utf8")) as { repository: { url: string } };
  const [, present = ""] = /github\.com\/([^/]+)\/keyframe/.exec(repository.url) ?? [];
  const changed: string[] = [];
  for (const path of await filesWith(named(present))) {
    const text = await readFile(path, "utf8");
    const renamed = text.replaceAll(new RegExp(named(present), "g"), `$1${name}$3`);
    if (renamed === text) continue;
    await writeFile(path, renamed);
    changed.push(path);
  }
  const said =
    changed.length === 0
      ? "already: nothing was changed."
      : `now in:\n${changed.map((path) => `  ${path}`).join("\n")}`;
  console.log(`The owner is ${name} ${said}`);
  return 0;
}

/** The files that git does not ignore. package.json is last: until all others are written, the next run finds the former name in it. */
async function filesWith(pattern: string): Promise<string[]> {
  const find = ["grep", "--no-index", "--exclude-standard", "--files-with-matches", "-zI", "-E", pattern];
  const paths = (await outputOf("git", find)).split("\0").filter(Boolean);
  return [...paths.filter((path) => path !== "package.json"), "package.json"];
}

runMain(HELP, main);

import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FAULT_NAMES } from "../../../local/simulator/faults.ts";
import { PROJECT_ROOT as ROOT } from "../../../local/stack/project-root.ts";
import { FAILURE_CODES } from "../../../shared/contract/predictions.ts";
import { anchorOf } from "../../../site/markdown.ts";
import { PAGES } from "../../../site/pages.ts";

const inFolder = async (folder: string) => (await readdir(join(ROOT, folder))).map((name) => `${folder}/${name}`);
const pages = [
  ...[
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
    "CHANGELOG.md",
    "client/README.md",
    "examples/README.md",
    "local/README.md",
    "test/README.md",
    ".github/release.md",
  ],
  ...["crm-sync", "film-workflow", "next", "stripe-credits", "vite-react"].map((name) => `examples/${name}/README.md`),
  "llms.txt",
  ...(await inFolder("docs")),
  ...(await inFolder("docs/decisions")),
  ...(await inFolder("lab")),
].filter((path) => /\.(md|txt)$/.test(path));

/** The text without its code blocks: what looks like a link there is code. */
const proseOf = async (path: string) => (await readFile(path, "utf8")).replaceAll(/^```.*?^```/gms, "");

const anchorsOf = (text: string) => [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) => anchorOf(title));

test("docs/when-it-fails.md → has every code with which a prediction fails, and no other", async () => {
  const [, after = ""] = (await readFile(join(ROOT, "docs/when-it-fails.md"), "utf8")).split('`status: "failed"`');
  const rows = after.split("\n\n")[1]?.matchAll(/^\| (`[^|]+) \|/gm) ?? [];
  const named = [...rows].flatMap(([, cell = ""]) => [...cell.matchAll(/`(\w+)`/g)].map(([, code]) => code));
  expect(named.toSorted()).toEqual(FAILURE_CODES.toSorted());
});

test("docs/simulator.md → has every fault of the simulator, and no other", async () => {
  const rows = (await readFile(join(ROOT, "docs/simulator.md"), "utf8")).matchAll(/^\| (`[^|]+) \|/gm);
  const named = [...rows].flatMap(([, cell = ""]) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  expect(named.toSorted()).toEqual(FAULT_NAMES.toSorted());
});

test("the pages of the site → exactly this list, except llms.txt, which the site makes itself", () => {
  expect(PAGES.map(({ path }) => path).toSorted()).toEqual(pages.filter((path) => path !== "llms.txt").toSorted());
});

test.each(pages)(
  "links of %s within the project → lead to an existing file and heading; a decision by its number",
  async (page) => {
    const text = await proseOf(join(ROOT, page));
    const broken: string[] = [];
    for (const [, target = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [path = "", anchor] = target.split("#");
      const file = path === "" ? join(ROOT, page) : join(ROOT, page, "..", path);
      const found = existsSync(file) && (!anchor || anchorsOf(await proseOf(file)).includes(anchor));
      if (!found) broken.push(target);
    }
    for (const [link, said, file] of text.matchAll(/\[(?:decision )?(\d+)\]\([^)]*?(\d{4})-[^)]*\)/g))
      if (Number(said) !== Number(file)) broken.push(link);
    expect(broken).toEqual([]);
  },
);

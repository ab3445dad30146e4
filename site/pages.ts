import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { GUIDES } from "../dashboard/src/docs/guide-list.ts";
import { PROJECT_ROOT } from "../local/stack/project-root.ts";

/** `path`: in the repository. `file`: below the site's root, as Markdown. */
export type Page = { path: string; file: string; title: string };
export type Group = { text: string; pages: Page[]; collapsed?: boolean };

const pageOf = (path: string, title = headingOf(path)): Page => ({ path, file: fileOf(path), title });

/** README.md is the overview, because the site's first page is its own. */
const fileOf = (path: string): string =>
  path === "README.md"
    ? "overview.md"
    : path
        .replace(/README\.md$/, "index.md")
        .replace(/^\.github\//, "") // VitePress leaves hidden folders out
        .replace(/^[A-Z_]+\.md$/, lower);
const lower = (name: string) => name.toLowerCase();

const headingOf = (path: string): string =>
  /^# (.+)$/m.exec(readFileSync(join(PROJECT_ROOT, path), "utf8"))?.[1]?.replaceAll("`", "") ?? path;

const filesIn = (folder: string): string[] =>
  readdirSync(join(PROJECT_ROOT, folder))
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => `${folder}/${name}`);

const EXAMPLES = ["", "vite-react/", "next/", "crm-sync/", "stripe-credits/", "film-workflow/"];

/** What the site has beside the guides, behind those of the same group. */
const MORE: Record<string, Page[]> = {
  "Use it": EXAMPLES.map((name) => pageOf(`examples/${name}README.md`)),
  "Trust it": [pageOf("SECURITY.md", "Report a weakness")],
  "Change it": [
    ...["CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "CHANGELOG.md", ".github/release.md"],
    ...["local/README.md", "test/README.md", "lab/aims.md", "lab/chaos.md"],
  ].map((path) => pageOf(path)),
};

/** Everything that is written by hand, in the order of the sidebar. The site, each .md and llms.txt are made of this list. */
export const GROUPS: Group[] = [
  ...[...new Set(GUIDES.map(({ group }) => group))].map((text, at) => ({
    text,
    pages: [
      ...(at === 0 ? [pageOf("README.md", "Overview")] : []),
      ...GUIDES.filter(({ group }) => group === text).map(({ path, title }) => pageOf(path, title)),
      ...(MORE[text] ?? []),
    ],
  })),
  { text: "Decisions", pages: filesIn("docs/decisions").map((path) => pageOf(path)), collapsed: true },
];

export const PAGES: Page[] = GROUPS.flatMap(({ pages }) => pages);

const unlisted = filesIn("docs").filter((path) => !PAGES.some((page) => page.path === path));
if (unlisted.length > 0) throw new Error(`dashboard/src/docs/guide-list.ts does not have ${unlisted.join(", ")}.`);

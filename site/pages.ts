import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
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

const guides = (...names: [name: string, title: string][]): Page[] =>
  names.map(([name, title]) => pageOf(`docs/${name}.md`, title));

const pages = (...paths: string[]): Page[] => paths.map((path) => pageOf(path));

const EXAMPLES = ["", "vite-react/", "next/", "crm-sync/", "stripe-credits/", "film-workflow/"];

/**
 * Everything that is written by hand, in the order of the sidebar, in which somebody new needs it. The site, each .md and llms.txt are made
 * of this list.
 */
export const GROUPS: Group[] = [
  {
    text: "Start",
    pages: [
      pageOf("README.md", "Overview"),
      ...guides(
        ["quickstart", "Start"],
        ["react", "First film in React"],
        ["going-live", "Going live"],
        ["costs", "Money"],
        ["when-it-fails", "When it fails"],
      ),
    ],
  },
  {
    text: "Use it",
    pages: [
      pageOf("client/README.md", "Typed client"),
      ...guides(
        ["receive-webhooks", "Receive webhooks"],
        ["realtime", "Realtime"],
        ["engines", "Workflow engines"],
        ["agents", "Agents"],
        ["simulator", "Simulator"],
      ),
      ...pages(...EXAMPLES.map((name) => `examples/${name}README.md`)),
    ],
  },
  {
    text: "Run it",
    pages: guides(
      ["models", "Models"],
      ["install", "Install in an app"],
      ["deploy", "Deploy"],
      ["upgrade", "Upgrade"],
      ["first-run", "First run with accounts"],
      ["administer", "Administer"],
      ["operate", "Operate"],
      ["workers", "Workers as processes"],
      ["scale", "Scale"],
    ),
  },
  {
    text: "Trust it",
    pages: [
      ...guides(["security", "Threat model"], ["benchmarks", "Benchmarks"], ["compare", "Compare"]),
      pageOf("SECURITY.md", "Report a weakness"),
    ],
  },
  {
    text: "Change it",
    pages: [
      ...guides(["architecture", "Architecture"], ["first-frame", "How a first frame is made"]),
      ...pages("CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "CHANGELOG.md", ".github/release.md"),
      ...pages("local/README.md", "test/README.md", "lab/aims.md", "lab/chaos.md"),
    ],
  },
  { text: "Decisions", pages: pages(...filesIn("docs/decisions")), collapsed: true },
];

export const PAGES: Page[] = GROUPS.flatMap((group) => group.pages);

const unlisted = filesIn("docs").filter((path) => !PAGES.some((page) => page.path === path));
if (unlisted.length > 0) throw new Error(`site/pages.ts does not have ${unlisted.join(", ")}.`);

import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { PROJECT_ROOT } from "../local/stack/project-root.ts";
import { PAGES } from "./pages.ts";

const { repository } = JSON.parse(readFileSync(join(PROJECT_ROOT, "package.json"), "utf8")) as {
  repository: { url: string };
};
export const REPOSITORY = repository.url.replace(/^git\+/, "").replace(/\.git$/, "");

/** The anchor of a heading, as GitHub makes it. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");

/** Code, in which what looks like a link is none. */
const CODE = /(^```.*?^```$|`[^`\n]+`)/gms;
const LINK = /(\]\()([^)\s]+)(\))|((?:src|srcset|href)=")([^"]+)(")/g;

/**
 * A page of the repository for the site: links to other pages stay between pages, those to other files lead to the repository, and
 * pictures are found. Throws at a link to a file that is not there.
 */
export function forSite(markdown: string, { path, file }: { path: string; file: string }): string {
  const relink = (target: string): string => {
    if (/^([a-z]+:|#|\/)/.test(target)) return target;
    const [to = "", anchor] = target.split("#");
    const found = join(dirname(path), to).replace(/\/$/, "");
    const page = PAGES.find((one) => one.path === found || one.path === `${found}/README.md`);
    const hash = anchor === undefined ? "" : `#${anchor}`;
    const near = (where: string) => relative(dirname(file), where).replace(/^(?!\.)/, "./");
    if (page !== undefined) return near(page.file) + hash;
    if (/\.(png|gif|svg)$/.test(found)) return near(found);
    if (!existsSync(join(PROJECT_ROOT, found))) throw new Error(`${path} has a link to ${target}, which is not there.`);
    const kind = statSync(join(PROJECT_ROOT, found)).isDirectory() ? "tree" : "blob";
    return `${REPOSITORY}/${kind}/main/${found}${hash}`;
  };
  return outsideCode(markdown, (prose) =>
    prose.replaceAll(LINK, (_, a, href, b, c, source, d) => (href ? a + relink(href) + b : c + relink(source) + d)),
  );
}

/** Changes the prose of a page and leaves its code alone. */
const outsideCode = (markdown: string, change: (prose: string) => string): string =>
  markdown
    .split(CODE)
    .map((part, at) => (at % 2 === 0 ? change(part) : part))
    .join("");

/** Puts the marked part of a file into a page, where it says `<<< file`: what is shown is what is compiled and run. */
export function withSamples(markdown: string, folder: string): string {
  return markdown.replaceAll(/^<<< (\S+)$/gm, (_, name: string) => {
    const [, shown] =
      /^.*#region shown\n(.*?)\n[^\n]*#endregion/ms.exec(readFileSync(join(folder, name), "utf8")) ?? [];
    if (shown === undefined) throw new Error(`${name} has no region that is to be shown.`);
    const indent = /^ */.exec(shown)?.[0] ?? "";
    const lines = shown.split("\n").map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line));
    return `\`\`\`${name.split(".").at(-1)}\n${lines.join("\n")}\n\`\`\``;
  });
}

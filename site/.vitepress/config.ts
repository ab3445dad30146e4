import process from "node:process";
import { defineConfig } from "vitepress";
import { openApiDocument } from "../../shared/contract/openapi/index.ts";
import { anchorOf, REPOSITORY } from "../markdown.ts";
import { GROUPS, type Group } from "../pages.ts";

const link = (file: string) => `/${file.replace(/(^|\/)index\.md$/, "$1").replace(/\.md$/, "")}`;
const { tags = [] } = openApiDocument("", "");
const sidebarOf = ({ text, pages, collapsed }: Group) => ({
  text,
  items: pages.map(({ title, file }) => ({ text: title, link: link(file) })),
  ...(collapsed === undefined ? {} : { collapsed }),
});

/** A header of a table that says nothing is an empty cell, so that a screen reader does not announce it. */
function emptyHeaders(tokens: { type: string; tag: string; content: string }[]): void {
  tokens.forEach((token, at) => {
    if (token.type !== "th_open" || tokens[at + 1]?.content !== "") return;
    for (const each of [token, tokens[at + 2]]) if (each !== undefined) each.tag = "td";
  });
}

export default defineConfig({
  title: "Keyframe",
  titleTemplate: ":title · Keyframe",
  description: "The open-source backend for AI film-making apps, on Supabase.",
  lang: "en",
  base: process.env.KEYFRAME_SITE_BASE ?? "/",
  srcDir: ".pages", // site/build.ts fills it
  outDir: "dist",
  cacheDir: ".cache",
  router: { prefetchLinks: false }, // the first page loads what it shows
  head: [["link", { rel: "icon", href: `${process.env.KEYFRAME_SITE_BASE ?? "/"}favicon.svg`, type: "image/svg+xml" }]],
  markdown: {
    anchor: { slugify: anchorOf }, // links to headings are written for GitHub
    config: (md) => md.core.ruler.push("empty_headers", ({ tokens }) => emptyHeaders(tokens)),
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
  },
  // The theme's first page has no main landmark.
  transformHtml: (html, _, { page }) => (page === "index.md" ? html.replace('id="VPContent"', '$& role="main"') : html),
  themeConfig: {
    logo: "/favicon.svg",
    search: { provider: "local" },
    outline: { level: [2, 3] },
    externalLinkIcon: false,
    nav: [
      { text: "Start", link: "/docs/quickstart" },
      { text: "Demo", link: "/demo/", target: "_self" },
      { text: "Compare", link: "/docs/compare" },
      { text: "API", link: "/api/" },
      { text: "GitHub", link: REPOSITORY },
    ],
    sidebar: [
      ...GROUPS.slice(0, -1).map(sidebarOf),
      {
        text: "API reference",
        items: [
          { text: "Overview", link: "/api/" },
          ...tags.map(({ name }) => ({ text: name, link: `/api/${name.toLowerCase()}` })),
        ],
      },
      ...GROUPS.slice(-1).map(sidebarOf),
    ],
  },
});

import { copyFile, cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { PROJECT_ROOT } from "../local/stack/project-root.ts";
import { openApiDocument } from "../shared/contract/openapi/index.ts";
import { apiPages } from "./api-pages.ts";
import { diagramsOf } from "./diagrams.ts";
import { forSite, withSamples } from "./markdown.ts";
import { PAGES } from "./pages.ts";

export type Written = { file: string; title: string; markdown: string };

/** Every page as Markdown: for the generator with its diagrams drawn, and as it is read elsewhere. */
export async function writePages(prices: string, stage: string): Promise<Written[]> {
  const { version } = JSON.parse(await readFile(join(PROJECT_ROOT, "package.json"), "utf8")) as { version: string };
  const openapi = openApiDocument("https://<ref>.supabase.co/functions/v1", version);
  const first = withSamples(
    await readFile(join(import.meta.dirname, "index.md"), "utf8"),
    join(import.meta.dirname, "samples"),
  ).replace("<!-- prices -->", prices);
  const pages: Written[] = [
    { file: "index.md", title: "Keyframe", markdown: first },
    ...(await Promise.all(
      PAGES.map(async (page) => ({
        file: page.file,
        title: page.title,
        markdown: forSite(await readFile(join(PROJECT_ROOT, page.path), "utf8"), page),
      })),
    )),
    ...apiPages(openapi),
  ];
  for (const { file, markdown } of pages) {
    const { text, pictures } = diagramsOf(markdown, file);
    await write(join(stage, file), `${text}\n\n[This page as Markdown](./${basename(file)}){target="_self"}\n`);
    for (const [name, svg] of pictures) await write(join(stage, dirname(file), name), svg);
  }
  await write(join(stage, "public", "openapi.json"), `${JSON.stringify(openapi, null, 2)}\n`);
  await copyFile(join(PROJECT_ROOT, "dashboard", "public", "favicon.svg"), join(stage, "public", "favicon.svg"));
  const screenshots = join("docs", "screenshots");
  for (const folder of [stage, join(stage, "public")])
    await cp(join(PROJECT_ROOT, screenshots), join(folder, screenshots), { recursive: true });
  return pages;
}

/** Each page as Markdown beside its own; llms.txt, whose beginning is that of the repository's; and all pages in one file. */
export async function writeCopies(pages: Written[], out: string, base: string): Promise<void> {
  for (const { file, markdown } of pages) await write(join(out, file), markdown);
  const own = await readFile(join(PROJECT_ROOT, "llms.txt"), "utf8");
  const [beginning = ""] = own.split(/^## /m);
  const list = pages.map(({ file, title }) => `- [${title}](${base}${file})`).join("\n");
  await write(join(out, "llms.txt"), `${beginning}## Pages\n\n${list}\n`);
  const all = pages.map(({ file, markdown }) => `<!-- ${base}${file} -->\n\n${markdown.trim()}\n`).join("\n");
  await write(join(out, "llms-full.txt"), `${beginning}\n${all}`);
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

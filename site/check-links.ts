import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The links and pictures of the built pages that lead to no file or heading of the site, each with its page. */
export function brokenLinks(folder: string, base: string): string[] {
  const texts = new Map<string, string>();
  const textOf = (file: string) => {
    const known = texts.get(file) ?? readFileSync(join(folder, file), "utf8");
    texts.set(file, known);
    return known;
  };
  const fileOf = (path: string): string | undefined =>
    [path, `${path}.html`, join(path, "index.html")].find((one) => /\.\w+$/.test(one) && existsSync(join(folder, one)));
  const pages = globSync("**/*.html", { cwd: folder }).filter((file) => !file.startsWith("demo/"));
  return pages.flatMap((page) =>
    [...textOf(page).matchAll(/\s(?:href|src|poster)="([^"]+)"/g)].flatMap(([, given = ""]) => {
      const target = given.replaceAll("&amp;", "&");
      if (/^[a-z]+:/.test(target)) return []; // of another host
      const url = new URL(target, `https://site.invalid${base}${page}`);
      const found = url.pathname.startsWith(base)
        ? fileOf(decodeURIComponent(url.pathname.slice(base.length)) || "index.html")
        : undefined;
      const anchor = decodeURIComponent(url.hash.slice(1));
      const isThere =
        found !== undefined && (anchor === "" || !found.endsWith(".html") || textOf(found).includes(`id="${anchor}"`));
      return isThere ? [] : [`${page}: ${target}`];
    }),
  );
}

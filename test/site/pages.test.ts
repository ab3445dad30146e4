import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { brokenLinks } from "../../site/check-links.ts";
import { forSite } from "../../site/markdown.ts";
import { PAGES } from "../../site/pages.ts";
import { BASE } from "../support/site/build-site.ts";
import { runProgram } from "../support/tools/run-command.ts";
import { expectReadable, SITE, visitSite } from "../support/site/visit-site.ts";

const visit = visitSite();

test("the files of site, whose packages a clone does not have → pass the type check", async () => {
  const tsc = join(PROJECT_ROOT, "node_modules/typescript/bin/tsc");
  const { output } = await runProgram(Deno.execPath(), ["run", "-A", tsc, "--noEmit", "-p", "site"]).ended;
  expect(output).toBe("");
});

const SIZES = ["phone", "desk"] as const;
const SCHEMES = ["light", "dark"] as const;

for (const size of SIZES)
  for (const scheme of SCHEMES)
    for (const path of ["", "docs/compare", "docs/architecture", "docs/receive-webhooks", "api/generation", "overview"])
      test(`/${path} on a ${size}, ${scheme} → axe finds nothing, and it fits`, async () => {
        await expectReadable(await visit(path, size, scheme));
      });

test("the first page → at most 200 kB without images and films; says what it is, what it costs and how to start", async () => {
  const page = await visit("");
  const bytes = await page.evaluate(() =>
    [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
      .map((one) => one as PerformanceResourceTiming)
      .filter(({ name }) => !/\.(png|gif|jpe?g|webp|svg|mp4)$/.test(name))
      .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
  );
  expect(bytes).toBeGreaterThan(10_000);
  expect(bytes).toBeLessThanOrEqual(200_000);
  const text = await page.getByRole("main").textContent();
  for (const said of ["backend for AI film-making apps", "A shot", "$0.97", "npm run demo", "There is no release yet"])
    expect(text).toContain(said);
});

test("search by keyboard → finds a heading of the docs and opens it, and no other host is contacted", async () => {
  const page = await visit("");
  await page.keyboard.press("Control+k");
  await page.getByRole("searchbox").fill("prepaid balances");
  await page.getByRole("option").first().waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/docs\/costs.*#prepaid-balances/);
});

test("Tab from the top of a page → skips to the content; the color scheme is a switch that the keyboard reaches", async () => {
  const page = await visit("docs/costs");
  await page.keyboard.press("Tab");
  await page.getByRole("link", { name: "Skip to content" }).waitFor();
  const toggle = page.getByRole("switch").first();
  await toggle.focus();
  await page.keyboard.press("Enter");
  expect(await page.evaluate(() => document.documentElement.classList.contains("dark"))).toBe(true);
  await expectReadable(page);
});

test("each page → exists as Markdown, is in llms.txt once and complete in llms-full.txt; openapi.json equals the contract", async () => {
  const read = (name: string) => readFile(join(SITE, name), "utf8");
  const [list, all] = await Promise.all([read("llms.txt"), read("llms-full.txt")]);
  for (const page of PAGES) {
    const markdown = await read(page.file);
    expect(markdown).toBe(forSite(await readFile(page.path, "utf8"), page));
    expect(list.split(`](${BASE}${page.file})`)).toHaveLength(2);
    expect(all).toContain(markdown.trim());
  }
  expect(JSON.parse(await read("openapi.json"))).toMatchObject({ openapi: "3.1.1" });
  const page = await visit("docs/costs");
  const [answer] = await Promise.all([
    page.waitForResponse(/costs\.md$/),
    page.getByRole("link", { name: "This page as Markdown" }).click(),
  ]);
  expect(answer.headers()["content-type"]).toContain("text/markdown");
});

test("a link to a page or a heading that does not exist → reported with its page", async () => {
  const folder = await Deno.makeTempDir({ prefix: "keyframe-links-" });
  await Deno.writeTextFile(
    join(folder, "index.html"),
    '<a href="/x/b#one"></a> <a href="/x/b#two"></a> <img src="no.png">',
  );
  await Deno.writeTextFile(
    join(folder, "b.html"),
    '<h2 id="one"></h2> <a href="/outside"></a> <a href="https://example.com/x"></a>',
  );
  expect(brokenLinks(folder, "/x/").sort()).toEqual(["b.html: /outside", "index.html: /x/b#two", "index.html: no.png"]);
  await Deno.remove(folder, { recursive: true });
});

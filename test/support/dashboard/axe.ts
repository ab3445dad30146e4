import axe from "axe-core";
import type { Page } from "playwright-core";

/** What axe finds wrong on a page as it stands, by all its rules or these alone: one line for each element. */
export async function axeFindings(page: Page, rules: string[] = []): Promise<string[]> {
  // Not as a script of the page: the Content-Security-Policy forbids that, as it should.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  return await page.evaluate(async (only) => {
    const options: axe.RunOptions = { resultTypes: ["violations"], ...(only.length === 0 ? {} : { runOnly: only }) };
    // Put there by the line above.
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run(document, options);
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
    );
  }, rules);
}

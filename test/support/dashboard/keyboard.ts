import type { Page } from "playwright-core";

const MAX_PRESSES = 60;

/** Presses Tab until what has the focus has this name; it says which names it met when there is none. */
export async function tabTo(page: Page, name: string): Promise<void> {
  const met: string[] = [];
  for (let presses = 0; presses < MAX_PRESSES; presses++) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => {
      const element = document.activeElement;
      const labels =
        element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement ? element.labels : [];
      return (labels?.[0]?.textContent ?? element?.getAttribute("aria-label") ?? element?.textContent ?? "").trim();
    });
    if (focused === name) return;
    met.push(focused);
  }
  throw new Error(`The Tab key does not lead to "${name}", but to: ${met.join(" | ")}`);
}

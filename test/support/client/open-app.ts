import type { Page } from "playwright-core";
import { launchBrowser } from "../../../tools/demo/browser.ts";

const HTML = `<!doctype html><html lang="en"><title>An app</title><link rel="icon" href="data:,">
<main></main><script type="module" src="/app.js"></script></html>`;

/** A page of another origin, in a browser, that runs this module. */
export async function openApp(code: string): Promise<{ page: Page; origin: string; close: () => Promise<unknown> }> {
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => undefined }, (request) =>
    request.url.endsWith(".js")
      ? new Response(code, { headers: { "content-type": "text/javascript" } })
      : new Response(HTML, { headers: { "content-type": "text/html" } }),
  );
  const browser = await launchBrowser();
  const page = await browser.newPage();
  const origin = `http://127.0.0.1:${server.addr.port}`;
  await page.goto(origin);
  return { page, origin, close: () => Promise.all([server.shutdown(), browser.close()]) };
}

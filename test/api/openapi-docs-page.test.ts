import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { launchBrowser } from "../../tools/demo/browser.ts";
import { signUp } from "../support/api-user.ts";
import { openApi, places } from "../support/openapi-document.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser?.close());

const docs = () => `${inject("stack").url}/docs`;

/** The page in a window of its own, and whatever it did that it should not: errors, violations, requests to elsewhere. */
async function open(colorScheme: "light" | "dark", address = docs()): Promise<{ page: Page; wrong: string[] }> {
  const wrong: string[] = [];
  const page = await browser.newPage({ colorScheme, viewport: { width: 1200, height: 900 } });
  page.on("console", (message) => {
    if (message.type() === "error" || /content security policy/i.test(message.text())) wrong.push(message.text());
  });
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (protocol !== "data:" && origin !== new URL(address).origin) wrong.push(request.url());
  });
  page.on("response", (response) => {
    if (response.status() >= 400) wrong.push(`${response.status()} ${response.url()}`);
  });
  await page.goto(address);
  await page.waitForSelector(".opblock");
  return { page, wrong };
}

test.each(["light", "dark"] as const)(
  "the page in %s → every operation and event, no error, nothing from elsewhere",
  async (mode) => {
    const { page, wrong } = await open(mode);
    const listed = await page.$$eval(".opblock", (blocks) =>
      blocks.map((block) => {
        const text = (selector: string) => block.querySelector(selector)?.textContent?.replaceAll("\u200b", "") ?? "";
        return `${text(".opblock-summary-method")} ${text(".opblock-summary-path")}`;
      }),
    );
    const events = Object.keys(openApi.webhooks).map((name) => `POST ${name}`);
    expect(listed.toSorted()).toEqual(
      [...places.map(({ method, template }) => `${method} ${template}`), ...events].toSorted(),
    );
    const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(background).toBe(mode === "dark" ? "rgb(28, 32, 34)" : "rgb(250, 250, 250)");
    expect(wrong).toEqual([]);
    await page.close();
  },
);

test("a request tried with a session token, by another name of this machine → 200 with the user's own projects", async () => {
  const user = await signUp();
  await user.createProject({ title: "Seen in the docs" });
  const { page, wrong } = await open("light", docs().replace("127.0.0.1", "localhost"));
  await page.click(".auth-wrapper .authorize");
  await page.fill(".modal-ux input >> nth=0", user.token);
  await page.click(".modal-ux .authorize >> nth=0");
  await page.click(".modal-ux .btn-done >> nth=0");
  await page.click("#operations-Projects-listProjects .opblock-summary-control");
  await page.click("#operations-Projects-listProjects .execute");
  const answer = page.locator("#operations-Projects-listProjects .live-responses-table tbody");
  expect(await answer.locator(".response-col_status").first().textContent()).toContain("200");
  expect(await answer.locator(".response-col_description").first().textContent()).toContain("Seen in the docs");
  expect(wrong).toEqual([]);

  // The token is still there after a reload, and goes with what is tried next.
  await page.reload();
  await page.waitForSelector(".auth-wrapper .authorize.locked");
  await page.close();
});

test("the page may load nothing from elsewhere, stand in no frame, and is only read", async () => {
  const response = await fetch(docs());
  const policy = response.headers.get("content-security-policy") ?? "";
  await response.body?.cancel();
  expect(policy.split("; ")).toEqual(
    expect.arrayContaining(["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"]),
  );
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
  const posted = await fetch(docs(), { method: "POST", body: "x" });
  await posted.body?.cancel();
  expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
});

test.each(["package.json", "index.html", "..%2fpackage.json", "constructor", "swagger-ui-bundle.js.map"])(
  "/docs/%s, which is none of its files → 404",
  async (name) => {
    const response = await fetch(`${docs()}/${name}`);
    await response.body?.cancel();
    expect(response.status).toBe(404);
  },
);

test("a name that was made to lead to this machine → 403", async () => {
  const { hostname, port } = new URL(inject("stack").url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  await connection.write(
    new TextEncoder().encode("GET /docs HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n"),
  );
  expect(await new Response(connection.readable).text()).toMatch(/^HTTP\/1.1 403/);
});

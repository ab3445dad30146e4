import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { freePort } from "../../local/network.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { launchBrowser } from "../../tools/demo/browser.ts";
import { packClient } from "../../tools/starter/install-client.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { fillCredentials, newPerson, type Person } from "../support/dashboard/person.ts";
import { nodeBin, said } from "../support/runtimes/install.ts";
import { put } from "../support/tools/app-folder.ts";
import { runProgram } from "../support/tools/run-command.ts";

// examples/next as its README says: installed, built by `next build`, served by `next start`, asked over HTTP and used in a browser. Beside
// its pages, some that show a prediction to everybody: a page of which nothing depends on the request.

const { url, publishableKey, secretKey } = inject("stack");

const boardPage = (client: string, before = "") => `import { createKeyframeClient } from "keyframe-client";
import { connection } from "next/server";
void connection;
export default async function Board() {
  ${before}
  const { KEYFRAME_URL: url = "", SECRET_KEY: secretKey = "", USER_ID: userId = "", PROJECT_ID: projectId = "" } = process.env;
  const keyframe = createKeyframeClient({ url, secretKey, userId, ${client} });
  const { status } = await keyframe.predictions.read({ projectId, step: "first-frame" });
  return <p>It is {status}.</p>;
}
`;
const DROPPING = "fetch: (url, { cache: _, ...init }) => fetch(url, init)";
const BOARDS = {
  "a client as it is": boardPage(""),
  "a fetch that drops `cache`, after connection()": boardPage(DROPPING, "await connection();"),
  "a fetch that drops `cache`": boardPage(DROPPING),
};
const pathOf = (at: number) => `/board-${at + 1}`;

describe.each<[major: string, others?: string[]]>([["16"], ["15", ["next@15.5.29", "typescript@5.9.3"]]])(
  "Next.js %s",
  (major, others = []) => {
    const undo: (() => Promise<unknown>)[] = [];
    const faults: string[] = [];
    let app: string;
    let origin: string;
    let person: Person;
    let run: Awaited<ReturnType<Person["keyframe"]["generate"]>>;
    let page: Page;

    beforeAll(async () => {
      person = await newPerson();
      const { projectId } = await person.keyframe.projects.create({ title: "Board", textPrompt: "A harbour" });
      const prompt = uniquePrompt("[[fault:output_slow=600000]]"); // it runs until it is canceled
      run = await person.keyframe.generate("first-frame", { projectId, prompt });

      app = await Deno.makeTempDir({ prefix: "keyframe-next-" });
      undo.push(() => Deno.remove(app, { recursive: true }));
      const example = join(PROJECT_ROOT, "examples/next");
      const listed = await said("git", ["ls-files", "--cached", "--others", "--exclude-standard"], example);
      for (const path of listed.trim().split("\n")) await put(app, path, await Deno.readTextFile(join(example, path)));
      for (const [at, text] of Object.values(BOARDS).entries()) await put(app, `app${pathOf(at)}/page.tsx`, text);
      const env = {
        ...{ PATH: `${nodeBin(22)}:${Deno.env.get("PATH")}`, NEXT_TELEMETRY_DISABLED: "1" },
        ...{ NEXT_PUBLIC_SUPABASE_URL: url, NEXT_PUBLIC_SUPABASE_PUBLISHABLE_KEY: publishableKey },
        ...{ KEYFRAME_URL: url, SECRET_KEY: secretKey, USER_ID: person.session.user.id, PROJECT_ID: projectId },
      };
      await said("npm", ["install", "--no-audit", "--no-fund", await packClient(app), ...others], app, env);
      if (major === "15") {
        const proxy = await Deno.readTextFile(join(app, "proxy.ts"));
        await put(app, "middleware.ts", proxy.replace("function proxy", "function middleware"));
        await Deno.remove(join(app, "proxy.ts"));
      }
      expect(await said("npm", ["run", "build"], app, env)).toMatch(new RegExp(`Next\\.js ${major}\\.`));
      origin = `http://127.0.0.1:${freePort()}`;
      const { port, hostname } = new URL(origin);
      const server = runProgram(
        "node",
        ["node_modules/next/dist/bin/next", "start", "-p", port, "-H", hostname],
        env,
        app,
      );
      undo.push(() => server.ended);
      undo.push(async () => server.kill("SIGTERM"));
      await server.printed("Ready in");

      const browser = await launchBrowser();
      undo.push(() => browser.close());
      page = await browser.newPage();
      page.on("pageerror", ({ message }) => faults.push(message));
      page.on("console", (message) => {
        if (message.type() === "error" && !message.text().includes("Failed to load resource"))
          faults.push(message.text());
      });
    });
    afterAll(async () => {
      for (const one of undo.toReversed()) await one();
    });

    const get = (path: string, headers: Record<string, string> = {}) =>
      fetch(origin + path, { headers, redirect: "manual" });
    /** The cookies of the browser that is signed in. */
    const signedIn = async () => {
      const cookies = await page.context().cookies();
      return { cookie: cookies.map(({ name, value }) => `${name}=${value}`).join("; ") };
    };
    let film: string;

    test("a page without a session, or with a forged one → the sign-in; the route handler refuses a film, too", async () => {
      for (const headers of [{}, { cookie: "sb-127-auth-token=base64-e30" }]) {
        const [list, one] = [await get("/", headers), await get(`/films/${crypto.randomUUID()}`, headers)];
        for (const answer of [list, one]) {
          expect([answer.status, answer.headers.get("location")]).toEqual([307, "/sign-in"]);
          await answer.body?.cancel();
        }
      }
      const body = new URLSearchParams({ title: "The pier", textPrompt: "A boat" });
      const made = await fetch(`${origin}/films`, { method: "POST", body, redirect: "manual" });
      expect([made.status, made.headers.get("location")]).toEqual([303, "/sign-in"]);
    });

    test("a signed-in user → makes a film by the route handler; its page comes with data from the server, and follows it", async () => {
      await page.goto(origin);
      await fillCredentials(page, person);
      await page.getByLabel("Title").fill("The pier");
      await page.getByLabel("The first shot").fill(uniquePrompt("[[fault:output_slow=3000]]"));
      await page.getByRole("button", { name: "Make the first frame" }).click();
      await page.waitForURL(/\/films\/[0-9a-f-]{36}$/);
      film = new URL(page.url()).pathname;
      const html = await (await get(film, await signedIn())).text();
      expect(html).toContain("<h1>The pier</h1>");
      expect(html).toMatch(/role="status">first-frame: (queued|starting|processing)/);
      await page.getByRole("img", { name: "First frame of Shot 1" }).waitFor(); // the hook alone has read it
      await page.getByRole("button", { name: "Make the video" }).click();
      await page.locator("video").waitFor();
      await page.getByRole("status").getByText("video: succeeded").waitFor();
      expect(await (await get(film, await signedIn())).text()).toMatch(/<video src="http[^"]+"/);
      expect(faults).toEqual([]);
    });

    test("another user, an unknown film, or an address that is not an id → not found; a field that is too long → its message", async () => {
      const headers = await signedIn();
      const foreign = await (await newPerson()).keyframe.films.create({ title: "Not yours" });
      for (const id of [foreign.filmId, crypto.randomUUID(), "no-id"]) {
        const answer = await get(`/films/${id}`, headers);
        expect([answer.status, (await answer.text()).includes("Not yours")]).toEqual([404, false]);
      }
      const body = new URLSearchParams({ title: "t".repeat(300), textPrompt: "A boat" });
      const refused = await fetch(`${origin}/films`, { method: "POST", headers, body, redirect: "manual" });
      expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("title: ")]);
    });

    test("a page with an expired session → refreshed before the page reads, and set in the browser", async () => {
      const { cookie } = await signedIn();
      const [name = "", value = ""] = cookie.split("=base64-");
      const session = JSON.parse(atob(value.replaceAll("-", "+").replaceAll("_", "/")));
      const expired = JSON.stringify({ ...session, expires_at: 1 });
      const answer = await get(film, { cookie: `${name}=base64-${btoa(expired).replace(/=+$/, "")}` });
      expect([answer.status, answer.headers.getSetCookie().some((one) => one.startsWith(`${name}=base64-`))]).toEqual([
        200,
        true,
      ]);
      expect(await answer.text()).toContain("<h1>The pier</h1>");
    });

    test.each([
      ["a client as it is", "canceled", false],
      ["a fetch that drops `cache`, after connection()", "canceled", false],
      ["a fetch that drops `cache`", "(starting|processing|queued)", true],
    ] as const)(
      "a public page that reads a prediction by %s → says %s; made at the build: %s",
      async (name, state, isStatic) => {
        await person.keyframe.cancel(run); // when the page was built, it ran
        const path = pathOf(Object.keys(BOARDS).indexOf(name));
        expect(await (await get(path)).text()).toMatch(new RegExp(`It is (<!-- -->)?${state}(<!-- -->)?\\.`));
        const manifest = JSON.parse(await Deno.readTextFile(join(app, ".next/prerender-manifest.json")));
        expect(Object.keys(manifest.routes).includes(path)).toBe(isStatic);
      },
    );
  },
);

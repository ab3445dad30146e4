import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { PROJECT_ROOT as ROOT } from "../../local/stack/project-root.ts";
import { OPERATIONS } from "../../shared/contract/operations/index.ts";
import { installClient } from "../../tools/starter/install-client.ts";
import { openDatabase } from "../support/api/database.ts";
import { mistakesIn } from "../support/client/app-types.ts";
import { bundle } from "../support/client/bundle.ts";
import type { JourneyReport } from "../support/client/journey.ts";
import { openApp } from "../support/client/open-app.ts";
import { expectJourney, expectJourneyIn, expectReadmeExampleIn, newTraveller } from "../support/client/programs.ts";
import { hold } from "../support/dashboard/film.ts";
import { newPerson } from "../support/dashboard/person.ts";
import { findPlace } from "../support/openapi/document.ts";

// The client as apps have it: packed and installed, or bundled into a page, against the running stack.

const { url, publishableKey } = inject("stack");
const read = (path: string) => Deno.readTextFile(path);
const undo: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const one of undo.reverse()) await one();
});

/** An app that has installed the packed client and nothing else. */
let app: string;
let installed: string;
beforeAll(async () => {
  app = await Deno.makeTempDir({ prefix: "keyframe-client-app-" });
  undo.push(() => Deno.remove(app, { recursive: true }));
  installed = `${app}/node_modules/keyframe-client`;
  await Deno.writeTextFile(`${app}/package.json`, JSON.stringify({ type: "module", private: true }));
  await installClient(app);
});

/** What the package imports: optional, for the apps that use these modules. */
const FOREIGN: Record<string, string[]> = {
  "react.js": ["react"],
  "react.d.ts": ["react"],
  "film/mp4.js": ["mediabunny"],
  "film/last-frame.js": ["mediabunny"],
  "film/open.d.ts": ["mediabunny"],
  "film/fragments.js": ["mediabunny"],
  "film/fragments.d.ts": ["mediabunny"],
  "film/zip.js": ["client-zip"],
};

test("the packed client → modules with types, README and licence, importing only React for hooks, and what /film needs", async () => {
  const packed = JSON.parse(await read(`${installed}/package.json`));
  const { dependencies, peerDependencies, peerDependenciesMeta, exports } = packed;
  const project = JSON.parse(await read(`${ROOT}package.json`));
  const { mediabunny, "client-zip": clientZip } = project.devDependencies;
  expect([dependencies, peerDependencies]).toEqual([
    undefined,
    { "client-zip": `^${clientZip}`, mediabunny: `^${mediabunny}`, react: "^18.0.0 || ^19.0.0" },
  ]);
  expect(Object.values(peerDependenciesMeta)).toEqual(Array(3).fill({ optional: true }));
  expect(await read(`${installed}/LICENSE`)).toBe(await read(`${ROOT}LICENSE`));
  const files = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
  const clientFiles = (folder: string) =>
    [...files(folder), ...files(`${folder}/film`).map((name) => `film/${name}`)]
      .filter((name) => name !== "film")
      .sort();
  const modules = clientFiles(`${ROOT}client`).filter((name) => name.endsWith(".ts"));
  const compiled = modules.flatMap((name) => [name.replace(".ts", ".d.ts"), name.replace(".ts", ".js")]).sort();
  expect([files(`${installed}/dist`), clientFiles(`${installed}/dist/client`)]).toEqual([
    ["client", "shared"],
    compiled,
  ]);
  expect(files(installed)).toEqual(["LICENSE", "README.md", "dist", "package.json"]);
  const { "./package.json": _, ...modulesOf } = exports;
  const targets = Object.values<Record<string, string>>(modulesOf).flatMap((entry) => Object.values(entry));
  expect(targets).toHaveLength(6);
  for (const target of targets) expect(compiled).toContain(target.replace("./dist/client/", ""));
  const manifest = await run("node", "-p", `require.resolve("keyframe-client/package.json")`); // as tools look for it
  expect(manifest).toEqual([`${await Deno.realPath(installed)}/package.json\n`, ""]);
  expect(await read(`${installed}/dist/client/react.js`)).toMatch(/^"use client";/);
  expect(files(`${installed}/dist/shared`)).toEqual(["http", "media"]);
  expect(files(`${installed}/dist/shared/http`)).toEqual(["errors.d.ts", "errors.js"]);
  const shared = files(`${installed}/dist/shared/media`).map((name) => `../shared/media/${name}`);
  for (const name of [...compiled, ...shared]) {
    const source = await read(`${installed}/dist/client/${name}`);
    const imported = [...source.matchAll(/(?:from|import\() ?"([^"]+)"/g)].map(([, from]) => from);
    const foreign = imported.filter(
      (from) => !/^(\.\/|\.\.\/types\.|(\.\.\/)+shared\/(http|media)\/)/.test(from ?? ""),
    );
    expect(foreign, name).toEqual(FOREIGN[name] ?? []);
  }
});

/** What a program in the app's folder says, and complains of. */
async function run(program: string, ...args: string[]): Promise<[said: string, complained: string]> {
  const { stdout, stderr } = await new Deno.Command(program, { args, cwd: app }).output();
  return [new TextDecoder().decode(stdout), new TextDecoder().decode(stderr)];
}

test.each(["an app of Vite and React with every strictness", "a Node server, without the types of a browser"] as const)(
  "%s that uses the installed package → passes the type check",
  async (settings) => {
    expect(await mistakesIn(app, `${ROOT}node_modules/typescript`, settings)).toBe("");
  },
);

test("the bundled client → one module without imports, schemas or mentions of a runtime, small enough for any page", async () => {
  const code = await bundle("client/index.ts");
  for (const foreign of ["Deno", "node:", "process.", "zod", "window", "document", " Buffer", "(Buffer"]) {
    expect(code, foreign).not.toContain(foreign);
  }
  expect(code.length).toBeLessThan(45_000);
});

type Passed = { method: string; path: string; headers: Headers };

/** The stack on an origin of its own, where every request is seen. */
function startProxy() {
  const passed: Passed[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => undefined }, async (request) => {
    const { pathname, search } = new URL(request.url);
    const headers = new Headers(request.headers);
    headers.delete("host");
    const body = request.body ? await request.arrayBuffer() : null;
    const answer = await fetch(url + pathname + search, { method: request.method, headers, body, redirect: "manual" });
    passed.push({ method: request.method, path: pathname + search, headers });
    return new Response(answer.body, answer);
  });
  undo.push(() => server.shutdown());
  return { url: `http://127.0.0.1:${server.addr.port}`, passed };
}

describe("the client, from project to webhooks", () => {
  test("the client, packed and installed, in npm's Node → everything from project to webhooks as the contract says", () =>
    expectJourneyIn(app, { run: ["node"] }));

  test("the client, bundled, in a browser on another origin → every operation for apps; few polls, one preflight an address", async () => {
    const bundled = `${await bundle("test/support/client/journey.ts")};globalThis.journey = journey;`;
    const { page, origin, close } = await openApp(bundled);
    undo.push(close);
    const proxy = startProxy();
    const input = { ...(await newTraveller()), url: proxy.url };
    // As text, for a function would be rewritten by the test runner, whose helpers the page lacks.
    const report = await page.evaluate<JourneyReport>(`journey(${JSON.stringify(input)})`);
    expectJourney(report);

    const mount = "/functions/v1";
    const toApi = proxy.passed.filter(({ path }) => path.startsWith(`${mount}/api/`));
    const requests = toApi.filter(({ method }) => method !== "OPTIONS");
    const preflights = toApi.filter(({ method }) => method === "OPTIONS").map(({ path }) => path);
    expect(preflights.filter((path, index) => preflights.indexOf(path) !== index)).toEqual([]);
    const looks = requests.filter(({ path, method }) => method === "GET" && path.includes("/projects/generate/"));
    // Four runs, four reads of an ended one, and three that are refused or aborted.
    expect(looks.length).toBeLessThan(40);
    // Read many times, with and without If-None-Match and Prefer.
    const { projectId, predictionId } = report.ended;
    const asked = `${mount}/api/projects/generate/first-frame?${new URLSearchParams({ projectId, predictionId })}`;
    expect(looks.filter(({ path }) => path === asked).length).toBeGreaterThanOrEqual(5);
    expect(preflights.filter((path) => path === asked)).toHaveLength(1);

    const called = new Set<string | undefined>();
    for (const { headers, method, path } of requests) {
      called.add(findPlace(method, path.slice(mount.length).split("?")[0] ?? "")?.id);
      expect([headers.get("cookie"), headers.get("origin")]).toEqual([null, origin]);
      expect(headers.has("idempotency-key")).toBe(method === "POST");
    }
    const forApps = Object.entries(OPERATIONS).filter(
      ([, { tag, caller }]) => tag !== "Service" && caller !== "server",
    );
    expect([...called].sort()).toEqual(forApps.map(([id]) => id).sort());
  });
});

test("the example of client/README.md, in npm's Node → runs, shows progress, then a file", async () => {
  await Deno.symlink(`${ROOT}node_modules/@supabase`, `${app}/node_modules/@supabase`);
  await expectReadmeExampleIn(app, { run: ["node"] });
});

// Under React 18 and 19: test/unit/client/react.test.ts.
test("the example of docs/react.md, pressed twice → one film with its progress; over the budget → says so, can be repeated", async () => {
  const [, example = ""] = /^```tsx\n(.*?)^```$/ms.exec(await read(`${ROOT}docs/react.md`)) ?? [];
  const person = await newPerson();
  const proxy = startProxy();
  const env = {
    ...{ VITE_SUPABASE_URL: proxy.url, VITE_SUPABASE_PUBLISHABLE_KEY: publishableKey },
    ...{ VITE_EMAIL: person.email, VITE_PASSWORD: person.password },
  };
  // Vite puts the variables of .env.local in the place of import.meta.env; the page's element has another name here.
  const text = example
    .replace("import.meta.env", JSON.stringify(env))
    .replace('getElementById("root")', 'querySelector("main")');
  const { page, close } = await openApp(await bundle("docs/react.tsx", { react: 19, text }));
  undo.push(close);
  const button = page.getByRole("button", { name: "Make a film" });
  await button.waitFor();
  // A frame of the simulator is made in less time than a look at the page may take.
  const seen = await page.evaluateHandle(() => {
    const texts: string[] = [];
    const note = () => texts.push(document.querySelector("[role=status]")?.textContent ?? "");
    new MutationObserver(note).observe(document.body, { subtree: true, childList: true, characterData: true });
    return texts;
  });
  // The video takes the place of the frame, which a busy machine may not have drawn by then.
  const video = await hold(page, "**/projects/generate/video");
  await button.evaluate((one: HTMLButtonElement) => {
    one.click();
    one.click();
  });
  await expect.poll(() => seen.evaluate((texts) => texts.join())).toContain("first-frame");
  await page.getByRole("button", { name: "Making a film" }).waitFor();
  expect(await page.getByRole("button").isDisabled()).toBe(true);
  await page.getByRole("img", { name: "First frame" }).waitFor({ timeout: 60_000 });
  video.release();
  const player = page.locator("video");
  await player.waitFor({ timeout: 60_000 });
  expect(await player.evaluate((element: HTMLVideoElement) => element.play())).toBeUndefined();
  await button.waitFor();
  const posts = proxy.passed.filter(({ method, path }) => method === "POST" && path.includes("/api/projects"));
  expect(posts.map(({ path }) => path.split("/projects")[1])).toEqual(["", "/generate/first-frame", "/generate/video"]);
  const reads = proxy.passed.filter(({ method, path }) => method === "GET" && /\/projects\/[0-9a-f-]+$/.test(path));
  // Shown first; after each of two starts and two ends.
  expect(reads.length).toBeLessThanOrEqual(5);

  await openDatabase()`
    insert into keyframe_private.owner_budgets (owner_id, month_micros) values (${person.session.user.id}, 1)`;
  await button.click();
  await page.getByRole("alert").getByText("Your budget is used up for now.").waitFor();
  await button.waitFor();
  expect(await button.isEnabled()).toBe(true);
});

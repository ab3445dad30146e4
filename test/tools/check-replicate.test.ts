import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { serveHttp } from "../../local/simulator/serve-http.ts";
import { startSimulator } from "../../local/simulator/start-simulator.ts";
import { createProvider } from "../../supabase/functions/keyframe-generate/provider/provider.ts";
import { imageRow, projectRows, videoRow } from "./models-check-fixture.ts";
import { runCommand } from "../support/tools/run-command.ts";

// npm run check:replicate as its own process, against the simulator.

/** The simulator, a project whose table has these rows, and the environment that leads the command to both. */
async function startScene() {
  const simulator = await startSimulator({ token: "r8_right" });
  const rows = [imageRow({ step: "last-frame" }), imageRow(), videoRow()];
  const project = await serveHttp(async () => Response.json(projectRows(rows)), 0);
  const folder = await Deno.makeTempDir({ prefix: "kf-check-replicate-" });
  const provider = createProvider({ token: simulator.token, baseUrl: simulator.apiUrl, fetch, now: Date.now });
  return {
    simulator,
    /** Every run there has been, newest first. */
    runs: async () => (await provider.list(new Date(0), null, new AbortController().signal)).runs,
    environment: {
      TMPDIR: folder,
      KEYFRAME_REPLICATE_API_TOKEN: "r8_right",
      KEYFRAME_REPLICATE_API_BASE_URL: simulator.apiUrl,
      KEYFRAME_REPLICATE_OUTPUT_HOSTS: simulator.url,
      SUPABASE_URL: `http://127.0.0.1:${project.port}`,
      SUPABASE_SECRET_KEYS: '{"default":"sb_secret_right"}',
    },
    stop: async () => {
      await project.stop();
      await simulator.stop();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

let scene: Awaited<ReturnType<typeof startScene>>;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.stop());

const run = (args: string[], environment: Record<string, string> = {}) =>
  runCommand("tools/check-replicate.ts", args, { ...scene.environment, ...environment }).ended;
const creates = () => scene.simulator.control.state().creates;
const latest = async () => (await scene.runs()).at(0);

test("no token → one loud line, exit 0, no question", async () => {
  const { code, said, error } = await run(["--yes"], { KEYFRAME_REPLICATE_API_TOKEN: "" });
  expect([code, said]).toEqual([0, ""]);
  expect(error).toMatch(/^SKIPPED: nothing was checked\. KEYFRAME_REPLICATE_API_TOKEN is not set[^\n]+\n$/);
});

test("neither --yes nor a terminal → exit 1, and nothing is run", async () => {
  const before = creates();
  const { code, said, error } = await run([]);
  expect([code, said]).toEqual([1, ""]);
  expect(error).toMatch(/^This costs money, and there is no terminal to ask at: add --yes[^\n]+\n$/);
  expect(creates()).toBe(before);
});

test("--yes, with the model that the migrations ship → one image: checked, kept, reported; exit 0", {
  timeout: 90_000,
}, async () => {
  const before = creates();
  const { code, said, error } = await run(["--yes", "--migrations"]);
  expect([code, error], said).toEqual([0, ""]);
  expect(creates()).toBe(before + 1);
  const { id, model, input } = (await latest()) ?? {};
  expect(model).toBe("google/nano-banana-2");
  expect(input).toMatchObject({ prompt: expect.stringContaining("harbour"), aspect_ratio: "16:9", resolution: "1K" });
  expect(said).toMatch(
    /^This COSTS MONEY, a few cents at most: https:\/\/replicate\.com\/google\/nano-banana-2 states/,
  );
  expect(said).toContain(`prediction ${id} of google/nano-banana-2`);
  const file = /^Kept +(.+\.png)$/m.exec(said)?.[1] ?? "";
  const bytes = await Deno.readFile(file);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  expect(said).toContain(`image/png, 640 × 360, ${bytes.byteLength} bytes, SHA-256 ${sha256}\n`);
  expect(said).toMatch(/^Time +\d+\.\d s, of which the model ran \d+\.\d s$/m);
  expect(said).toMatch(/It works: [^\n]+\n$/);
});

test("a wrong token → exit 1 and where to make one, never the token itself", async () => {
  const { code, said, error } = await run(["--yes"], { KEYFRAME_REPLICATE_API_TOKEN: "r8_wrong" });
  expect(code).toBe(1);
  expect(error).toMatch(/^The provider refuses our access\.[^\n]+replicate\.com\/account\/api-tokens[^\n]+\n$/);
  expect(said + error).not.toContain("r8_wrong");
});

test("an output at a host that is not listed → exit 1 and the variable's name, nothing fetched", async () => {
  const { code, error } = await run(["--yes"], { KEYFRAME_REPLICATE_OUTPUT_HOSTS: "replicate.delivery" });
  expect(code).toBe(1);
  expect(error).toMatch(
    /address that is not allowed\. Is the host of the output in KEYFRAME_REPLICATE_OUTPUT_HOSTS\?\n$/,
  );
});

test("asked to stop while the run is going on → the run is cancelled, exit 1", async () => {
  scene.simulator.control.delays({ runMs: 600_000 });
  const command = runCommand("tools/check-replicate.ts", ["--yes"], scene.environment);
  await command.printed("Started");
  command.kill("SIGINT");
  const { code, error } = await command.ended;
  scene.simulator.control.delays({ runMs: 0 });
  const id = (await latest())?.id;
  expect([code, error]).toEqual([1, `It was asked to stop. The run ${id} was cancelled if it had not ended.\n`]);
  expect(await latest()).toMatchObject({ id, status: "canceled" });
});

test("an option that there is not → one line, exit 1; --help → the cost stands in it, exit 0", async () => {
  expect(await run(["--free"])).toMatchObject({
    code: 1,
    error: expect.stringMatching(/--free.*--help lists[^\n]+\n$/),
  });
  expect(await run(["--help"])).toMatchObject({ code: 0, said: expect.stringContaining("IT COSTS MONEY"), error: "" });
});

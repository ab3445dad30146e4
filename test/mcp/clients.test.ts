import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { signUp, type User } from "../support/api/user.ts";
import { mcpUrl } from "../support/mcp/agent.ts";

// The official conformance suite and inspector, as programs of their own. They need Node 22.

const FOLDER = fileURLToPath(new URL("../support/mcp/clients", import.meta.url));
const BIN = join(FOLDER, "node_modules/.bin");
let user: User;
let proxy: Deno.HttpServer<Deno.NetAddr>;
let url: string;
beforeAll(async () => {
  if (!existsSync(BIN)) {
    const { success, stderr } = await new Deno.Command("npm", { args: ["install"], cwd: FOLDER }).output(); // see its .npmrc
    if (!success) throw new Error(`npm install in ${FOLDER}: ${new TextDecoder().decode(stderr)}`);
  }
  user = await signUp();
  // The suite sends no token.
  proxy = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, (request) => {
    const headers = new Headers(request.headers);
    headers.set("authorization", `Bearer ${user.token}`);
    headers.delete("host");
    return fetch(mcpUrl(), { method: request.method, headers, body: request.body, signal: request.signal });
  });
  url = `http://127.0.0.1:${proxy.addr.port}/mcp`;
});
afterAll(() => proxy?.shutdown());

/** Runs a program of the folder with its Node, where there is one for this machine. */
async function run(name: string, args: string[]): Promise<{ code: number; said: string; stderr: string }> {
  const env = { PATH: `${BIN}:${Deno.env.get("PATH")}` };
  const { code, stdout, stderr } = await new Deno.Command(join(BIN, name), { args, env }).output();
  const [said, complained] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { code, said: said ?? "", stderr: complained ?? "" };
}

/** What of the suite is about any server. */
const APPLY = ["server-initialize", "ping", "tools-list"];
/** The other scenarios, and why they are not for this server. */
const SAMPLE_TOOL = "calls a tool of the suite's sample server";
const NO_FEATURE = "is about a feature that the server does not declare";
const OTHERS: [scenarios: RegExp, why: string][] = [
  [/^tools-call-/, SAMPLE_TOOL],
  [/^(json-schema-2020-12|elicitation-sep\d+-\w+|server-sse-polling|server-sse-multiple-streams)$/, SAMPLE_TOOL],
  [/^(resources|prompts)-/, NO_FEATURE],
  [/^(completion-complete|logging-set-level)$/, NO_FEATURE],
  // A page of another origin has no token, without which nothing is answered; hosted, the gateway reads Host.
  [/^dns-rebinding-protection$/, "is for servers without authentication"],
];

test("the MCP conformance suite → has these scenarios, and no other", async () => {
  const { said } = await run("conformance", ["list", "--server"]);
  const scenarios = [...said.matchAll(/^ {2}- ([\w-]+) \[/gm)].map(([, name]) => name ?? "");
  expect(scenarios.length).toBeGreaterThan(30);
  const unnamed = scenarios.filter((one) => !APPLY.includes(one) && !OTHERS.some(([pattern]) => pattern.test(one)));
  expect(unnamed).toEqual([]);
  expect(scenarios).toEqual(expect.arrayContaining(APPLY));
});

test.each(APPLY)("the scenario %s of the conformance suite → passes", async (scenario) => {
  const folder = await mkdtemp(join(tmpdir(), "keyframe-conformance-"));
  const { code, said } = await run("conformance", ["server", "--url", url, "--scenario", scenario, "-o", folder]);
  await rm(folder, { recursive: true });
  expect([code, said]).toEqual([0, expect.stringMatching(/Passed: [1-9]\d*\/\d+, 0 failed/)]);
});

/** What the inspector prints, as JSON. It adds the token itself. */
async function inspect(...args: string[]): Promise<Record<string, unknown>> {
  const header = `Authorization: Bearer ${user.token}`;
  const { code, said, stderr } = await run("inspector", [
    "--cli",
    mcpUrl(),
    "--transport",
    "http",
    "--header",
    header,
    ...args,
  ]);
  if (code !== 0) throw new Error(`inspector ${args.join(" ")}: ${code} ${stderr}`);
  return z.record(z.string(), z.unknown()).parse(JSON.parse(said));
}

test("the inspector's command line → the tools, with schemas that other clients can read too, and the answers of calls", async () => {
  const { tools } = await inspect("--method", "tools/list", "--strict");
  expect(tools).toHaveLength(23);
  const asked = ["--method", "tools/call", "--tool-name", "create_project", "--tool-arg", "title=Harbour"];
  const made = await inspect(...asked, "textPrompt=A harbour at dawn");
  expect(made.structuredContent).toMatchObject({ title: "Harbour", textPrompt: "A harbour at dawn" });
});

import { createClient } from "@supabase/supabase-js";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { removeData } from "../../../local/stack/data-folder.ts";
import { loadStackKeys } from "../../../local/stack/stack-keys.ts";
import { allGone, descendantsOf, type Running, runCommand } from "../../support/tools/run-command.ts";

const created = z.object({ success: z.literal(true), data: z.object({ projectId: z.string() }) });
let dataDir: string;
let stack: Running;
let url: string;

beforeAll(async () => {
  dataDir = await Deno.makeTempDir({ prefix: "keyframe-start-" });
  await start();
});

afterAll(async () => {
  stack.kill("SIGKILL");
  await stack.ended;
  await removeData(dataDir);
});

async function start(): Promise<void> {
  stack = runCommand("local/start.ts", ["--port", "0", "--data", dataDir]);
  await stack.printed("Ctrl-C ends everything");
  url = /Supabase URL +(\S+)/.exec(stack.output())?.[1] ?? "";
}

async function health(): Promise<number> {
  const response = await fetch(`${url}/functions/v1/api/health`);
  await response.body?.cancel();
  return response.status;
}

async function paste(): Promise<string> {
  const command = /^ +TOKEN=[\s\S]*?"description":""}'$/m.exec(stack.output())?.[0] ?? "the welcome has no command";
  const shell = new Deno.Command("/bin/sh", { args: ["-c", command] });
  return new TextDecoder().decode((await shell.output()).stdout);
}

async function projectsOfDemoUser(): Promise<unknown> {
  const { publishableKey, demoPassword: password } = await loadStackKeys(dataDir);
  const client = createClient(url, publishableKey, { auth: { autoRefreshToken: false }, db: { schema: "keyframe" } });
  await client.auth.signInWithPassword({ email: "demo@keyframe.local", password });
  return (await client.from("projects").select("id").order("id")).data;
}

async function storedFiles(folder = join(dataDir, "storage")): Promise<string[]> {
  const files: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) files.push(...(await storedFiles(join(folder, name))));
    else files.push(join(folder, name));
  }
  return files.sort();
}

test("npm start → each stage with its time, then health answers", async () => {
  for (const stage of ["Postgres", "Platform", "Migrations", "Gateway, functions, scheduler", "Demo user"]) {
    expect(stack.output()).toMatch(new RegExp(`^  ${stage} +\\d+ ms$`, "m"));
  }
  expect(await health()).toBe(200);
});

test("the printed database URL in any Postgres client → the role postgres, as npm run sql has it", async () => {
  const sql = postgres(/^ {2}Database +(postgres:\S+)/m.exec(stack.output())?.[1] ?? "", { max: 1 });
  expect(await sql`select current_user as who`).toEqual([{ who: "postgres" }]);
  await sql.end();
});

test("a second stack on the same data, also with --reset → one line that names the first, exit 1, and the first goes on", async () => {
  for (const more of [[], ["--reset"]]) {
    const second = await runCommand("local/start.ts", ["--port", "0", "--data", dataDir, ...more]).ended;
    expect(second).toMatchObject({ code: 1, output: `${second.lastLine}\n` });
    expect(second.lastLine).toContain(`in use by the stack at ${url}`);
  }
  expect(await health()).toBe(200);
});

test("the demo on the running stack's data → made by the demo user, and ends with a link to the film and its MP4", async () => {
  const demo = await runCommand("tools/demo.ts", ["--data", dataDir]).ended;
  expect([demo.code, demo.said]).toEqual([0, expect.stringMatching(/^ {2}sign in .*demo@keyframe\.local$/m)]);
  const [, file = "", link = ""] = /Watch the film:\n\n {2}(\S+)\n {2}(\S+)\n/.exec(demo.said) ?? [];
  expect([file, link]).toEqual([join(dataDir, "demo.mp4"), expect.stringMatching(`^${url}/#/shared/`)]);
  expect(new TextDecoder().decode((await Deno.readFile(file)).slice(4, 8))).toBe("ftyp");
  const shared = await fetch(`${url}/functions/v1/api/shared/${link.split("/").at(-1)}`);
  expect(await shared.json()).toMatchObject({ data: { title: "Lighthouse", shots: [{ video: expect.any(Object) }] } });
});

test("the demo on the running stack's data, while the provider fails → exit 1, the reason as a sentence", async () => {
  const simulator = /simulator, (\S+)/.exec(stack.output())?.[1];
  const fault = JSON.stringify({ fault: "failed", times: 1 });
  await (await fetch(`${simulator}/control/faults`, { method: "POST", body: fault })).body?.cancel();
  const demo = await runCommand("tools/demo.ts", ["--data", dataDir]).ended;
  expect([demo.code, demo.error]).toEqual([1, expect.stringMatching(/^\nThe demo failed: first-frame failed: .+\n$/)]);
});

test("the printed first command → a project; SIGTERM → exit 0, no process left; the next start has project, files and keys", async () => {
  const { data } = created.parse(JSON.parse(await paste()));
  const projects = await projectsOfDemoUser();
  expect(projects).toContainEqual({ id: data.projectId });
  const keys = await loadStackKeys(dataDir);
  const files = await storedFiles();
  expect(files.length).toBeGreaterThan(0);
  const children = await descendantsOf(stack.pid);
  expect(children.length).toBeGreaterThan(6);
  stack.kill("SIGTERM");
  expect((await stack.ended).code).toBe(0);
  await allGone(children, 0);
  await start();
  expect(await loadStackKeys(dataDir)).toEqual(keys);
  expect(await projectsOfDemoUser()).toEqual(projects);
  expect(await storedFiles()).toEqual(files);
});

test("kill -9 of npm start → every process that it started ends by itself", async () => {
  const children = await descendantsOf(stack.pid);
  stack.kill("SIGKILL");
  await stack.ended;
  await allGone(children);
});

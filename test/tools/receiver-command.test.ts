import { expect, test } from "vitest";
import { BODY, deliver, linesOf, OTHER_SECRET, SECRET, status } from "./receiver-fixture.ts";

const command = new URL("../../tools/receiver.ts", import.meta.url).pathname;

function start(args: string[], environment: Record<string, string> = {}): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", command, ...args],
    env: { PATH: Deno.env.get("PATH") ?? "", HOME: Deno.env.get("HOME") ?? "", ...environment },
    clearEnv: true,
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

test("no secret → how to get one, with the port asked for; exit 1", async () => {
  const { code, stderr } = await start(["--port", "54391"]).output();
  const said = new TextDecoder().decode(stderr);
  expect(code).toBe(1);
  expect(said).toContain(`-d '{"url":"http://127.0.0.1:54391/"}'`);
  expect(said).toContain("npm run receiver -- --port 54391");
});

test("a word that is no secret → one line that says so, not the word; exit 1", async () => {
  const { code, stderr } = await start(["--port", "0", "--secret", "hunter2"]).output();
  expect([code, new TextDecoder().decode(stderr)]).toEqual([1, "A webhook secret is whsec_ and base64.\n"]);
});

test("--json → ready, each event and each refusal one line of JSON; SIGTERM → exit 0", async () => {
  const child = start(["--port", "0", "--json", "--fail", "1"], { WEBHOOK_SECRET: `${OTHER_SECRET},${SECRET}` });
  const next = linesOf(child);
  const ready = JSON.parse(await next());
  expect(ready).toEqual({ ready: true, port: expect.any(Number) });
  const url = `http://127.0.0.1:${ready.port}/`;
  for (const expected of [500, 204, 204]) expect(await status(deliver(url, { id: "event-1" }))).toBe(expected);
  const lines = [await next(), await next(), await next()].map((line) => JSON.parse(line));
  const event: unknown = JSON.parse(BODY);
  expect(lines).toMatchObject([
    { refused: { status: 500 } },
    { id: "event-1", duplicate: false, event },
    { id: "event-1", duplicate: true, event },
  ]);
  child.kill("SIGTERM");
  expect((await child.status).code).toBe(0);
});

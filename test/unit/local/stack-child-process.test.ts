import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ChildProcess, type SupervisedOptions } from "../../../local/stack/child-process.ts";
import { until } from "../../support/until.ts";

let folder: string;
let child: ChildProcess | undefined;

beforeEach(async () => {
  folder = await Deno.makeTempDir({ prefix: "keyframe-child-" });
});

afterEach(async () => {
  await child?.stop();
  child = undefined;
  await Deno.remove(folder, { recursive: true });
});

function childRunning(program: string, more: Partial<SupervisedOptions> = {}): ChildProcess {
  child = new ChildProcess({
    name: "film",
    args: ["eval", program],
    env: { NO_COLOR: "1" },
    cwd: folder,
    logFile: join(folder, "film.log"),
    ready: async (firstLine) => void (await firstLine),
    startTimeoutMs: 20_000,
    onUnexpectedEnd: () => undefined,
    ...more,
  });
  return child;
}

test("a child process that ends at its first start → the start throws with the process's words, without a stack trace", async () => {
  const film = childRunning('throw new Error("FILM_SECRET is missing")');
  await expect(film.start()).rejects.toThrow(/^film ended at start: FILM_SECRET is missing \(see .*film\.log\)$/);
});

test("a child process that never serves → the start throws after its time limit, and the process is ended", async () => {
  const film = childRunning("setInterval(() => {}, 1000);", { startTimeoutMs: 300 });
  await expect(film.start()).rejects.toThrow(/^film did not serve within 0.3 s/);
  expect(film.pid).toBeUndefined();
});

test("the parent is killed just after it has started children → no process is left", async () => {
  const marker = crypto.randomUUID();
  const modules = new URL("../../../local/", import.meta.url).href;
  const program = `
    import { ChildProcess } from "${modules}stack/child-process.ts";
    const child = () => new ChildProcess({
      name: "film", args: ["eval", "setInterval(() => {}, 1000); // ${marker}"], env: {}, cwd: "/", logFile: "${folder}/film.log",
      ready: () => new Promise(() => {}), startTimeoutMs: 20_000, onUnexpectedEnd: () => {},
    });
    for (let started = 0; started < 3; started++) void child().start();
    Deno.kill(Deno.pid, "SIGKILL");`;
  const parent = new Deno.Command(Deno.execPath(), { args: ["eval", program], cwd: folder, stderr: "null" });
  expect((await parent.output()).signal).toBe("SIGKILL");
  const left = async () => {
    const { stdout } = await new Deno.Command("pgrep", { args: ["-f", marker] }).output();
    return new TextDecoder().decode(stdout).trim();
  };
  await until("the end of the children", async () => (await left()) === "");
});

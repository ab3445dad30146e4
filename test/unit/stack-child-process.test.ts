import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createBackoff, LogFile } from "../../local/stack/keep-running.ts";
import { ChildProcess, type SupervisedOptions } from "../../local/stack/child-process.ts";
import { until } from "../support/until.ts";
import { allGone } from "../support/tools/run-command.ts";

let folder: string;
let child: ChildProcess | undefined;
let problems: string[];

beforeEach(async () => {
  folder = await Deno.makeTempDir({ prefix: "keyframe-child-" });
  problems = [];
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
    onUnexpectedEnd: (line) => problems.push(line),
    ...more,
  });
  return child;
}

const SERVES = 'console.log("serves"); setInterval(() => {}, 1000);';

test("killed → said in one line, and another process serves; stopped while it waits for that, or just then → no process comes back", async () => {
  const film = childRunning(SERVES);
  await film.start();
  film.kill("SIGKILL");
  await until("its end is noticed", () => problems.length === 1);
  await film.stop();
  expect(film.pid).toBeUndefined();

  const other = childRunning(SERVES);
  await other.start();
  other.kill("SIGKILL");
  await until("another process runs", () => other.pid !== undefined && problems.length === 2);
  expect(problems).toEqual(Array(2).fill("film ended (SIGKILL) and is started again"));
  const second = other.pid;
  await other.stop();
  expect(other.pid).toBeUndefined();
  await allGone([`${second} ${Deno.execPath()} eval ${SERVES}`], 0);
});

test("ends at once at its first start → the start throws with its own words, without a stack", async () => {
  const film = childRunning('throw new Error("FILM_SECRET is missing")');
  await expect(film.start()).rejects.toThrow(/^film ended at start: FILM_SECRET is missing \(see .*film\.log\)$/);
});

test("never serves → the start throws after its patience, and the process is gone", async () => {
  const film = childRunning("setInterval(() => {}, 1000);", { startTimeoutMs: 300 });
  await expect(film.start()).rejects.toThrow(/^film did not serve within 0.3 s/);
  expect(film.pid).toBeUndefined();
});

test("dies again and again → pauses of 0.25, 0.5, 1, 2, 4, 8, 10, 10 s; after serving for 5 s short ones again", async () => {
  let now = 0;
  const pauses: number[] = [];
  const backoff = createBackoff(
    () => now,
    async (ms) => void pauses.push(ms),
  );
  const { signal } = new AbortController();
  for (let death = 0; death < 8; death++) {
    await backoff.pause(signal);
    backoff.served();
    now += 4_999;
  }
  expect(pauses).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
  now += 1;
  await backoff.pause(signal);
  expect(pauses.at(-1)).toBe(250);
});

test("a log that has grown large → a new one at the next start, the old one beside it; no folder → lines are dropped", async () => {
  const path = join(folder, "long.log");
  await Deno.writeTextFile(path, "x".repeat(5_000_001));
  const log = new LogFile(path);
  log.write("line");
  log.close();
  expect([await Deno.readTextFile(path), (await Deno.stat(`${path}.1`)).size]).toEqual(["line\n", 5_000_001]);

  const lost = new LogFile(join(folder, "nowhere", "film.log"));
  lost.write("line");
  lost.close();
});

test("the parent is killed in the moment after it has started children → no process is left", async () => {
  const marker = crypto.randomUUID();
  const modules = new URL("../../local/", import.meta.url).href;
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
  await until("the end of the children", async () => (await left()) === "", 10_000);
});

import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { LogFile } from "./log-file.ts";
import type { Watchdog } from "./watchdog.ts";

export type ChildOptions = {
  name: string;
  args: string[];
  env: Record<string, string>;
  cwd: string;
  /** Where everything it prints is kept. */
  logFile: string;
  /** Settles when it serves; given the first line it printed. `ended` is aborted when it ends before. */
  ready: (firstLine: Promise<string>, ended: AbortSignal) => Promise<void>;
  patienceMs: number;
  watchdog: Watchdog;
};

/** One life of a child. `ready` rejects with one line; `ended` never rejects and says how it ended. */
export type Run = { process: Deno.ChildProcess; ready: Promise<void>; ended: Promise<string> };

/**
 * Starts a child, run by this Deno with exactly the given environment, in a process group of its own: a Ctrl-C is for the
 * parent, which ends its children in order. Returns at once.
 */
export function runChild({ name, args, env, cwd, logFile, ready, patienceMs, watchdog }: ChildOptions): Run {
  const log = new LogFile(logFile);
  const process = new Deno.Command(Deno.execPath(), {
    args,
    env,
    cwd,
    clearEnv: true,
    detached: true,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  watchdog.add(process.pid);
  const firstLine = Promise.withResolvers<string>();
  firstLine.promise.catch(() => undefined);
  const tail: string[] = [];
  const keep = (line: string) => {
    tail.push(line);
    if (tail.length > 20) tail.shift();
    log.write(line);
  };
  const printed = Promise.all([
    readLines(process.stdout, (line) => {
      firstLine.resolve(line);
      keep(line);
    }),
    readLines(process.stderr, keep),
  ]);
  const over = new AbortController();
  const ended = process.status.then(async ({ signal, code }) => {
    watchdog.remove(process.pid);
    await printed;
    log.close();
    over.abort();
    firstLine.reject(new Error("ended"));
    return signal ?? `code ${code}: ${lastWord(tail)}`;
  });
  const untilReady = readyWithin(ready(firstLine.promise, over.signal), over.signal, patienceMs).catch(
    (error: Error) => {
      throw new Error(`${name} ${error.message}: ${lastWord(tail)} (see ${logFile})`);
    },
  );
  untilReady.catch(() => undefined); // whoever wants to know awaits it
  return { process, ready: untilReady, ended };
}

async function readyWithin(ready: Promise<void>, over: AbortSignal, patienceMs: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      over.addEventListener("abort", () => reject(new Error("ended at start")));
      timer = setTimeout(() => reject(new Error(`did not serve within ${patienceMs / 1000} s`)), patienceMs);
      // It says why on its other output, which is read to the end before `over`.
      ready.then(resolve, () => undefined);
    });
  } finally {
    clearTimeout(timer);
  }
}

/** What it said of its end, without what Deno puts in front. */
function lastWord(tail: string[]): string {
  const error = tail.find((line) => line.startsWith("error:"));
  const said = error?.replace(/^error: (Uncaught )?(\(in promise\) )?(Error: )?/, "");
  return said ?? tail.at(-1) ?? "it printed nothing";
}

async function readLines(stream: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<void> {
  for await (const line of createInterface({ input: Readable.from(stream) })) onLine(line);
}

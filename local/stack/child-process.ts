import { readLines, spawnWithParent } from "../spawn-with-parent.ts";
import { within } from "../bounded-wait.ts";
import { keepRunning, LogFile } from "./keep-running.ts";

const STOP_TIMEOUT_MS = 8_000;

export type SupervisedOptions = ChildOptions & {
  /** Called for each unexpected end, before the restart. */
  onUnexpectedEnd: (line: string) => void;
};

/** One child process of the stack, restarted after an unexpected end. */
export class ChildProcess {
  readonly #options: SupervisedOptions;
  readonly #stopping = new AbortController();
  #process: Deno.ChildProcess | undefined;
  #supervised: Promise<void> | undefined;

  constructor(options: SupervisedOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Starts the child and waits until it serves. Otherwise ends it and throws a one-line error with its last output. */
  async start(): Promise<void> {
    let run = this.#launch();
    try {
      await run.ready;
    } catch (error) {
      this.kill("SIGKILL");
      await run.ended;
      throw error;
    }
    const ended = async () => {
      const how = await run.ended;
      if (!this.#stopping.signal.aborted) this.#options.onUnexpectedEnd(`${this.name} ended (${how}); restarting it`);
    };
    const restart = async () => {
      run = this.#launch();
      await run.ready;
    };
    this.#supervised = keepRunning({ ended, restart, onFailure: () => this.kill("SIGKILL") }, this.#stopping.signal);
  }

  /** Ends the child for good with SIGTERM, and with SIGKILL after 8 s. May be called twice. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const timer = setTimeout(() => this.kill("SIGKILL"), STOP_TIMEOUT_MS);
    this.kill("SIGTERM");
    await this.#process?.status;
    await this.#supervised;
    clearTimeout(timer);
  }

  /** For fault tests: sends a signal. An ended child is restarted. */
  kill(signal: Deno.Signal): void {
    try {
      this.#process?.kill(signal);
    } catch {
      // The child has ended already.
    }
  }

  #launch(): Run {
    const run = runChild(this.#options);
    this.#process = run.process;
    run.ended.then(() => {
      if (this.#process === run.process) this.#process = undefined;
    });
    return run;
  }
}

type ChildOptions = {
  name: string;
  args: string[];
  env: Record<string, string>;
  cwd: string;
  logFile: string;
  /** Resolves when the child serves. Gets the first line of its output; `ended` is aborted when the process ends first. */
  ready: (firstLine: Promise<string>, ended: AbortSignal) => Promise<void>;
  startTimeoutMs: number;
};

/** One run of a child. `ready` rejects with a one-line error; `ended` resolves to how it ended. */
type Run = { process: Deno.ChildProcess; ready: Promise<void>; ended: Promise<string> };

/** Starts a child under this Deno with exactly the given environment. */
function runChild({ name, args, env, cwd, logFile, ready, startTimeoutMs }: ChildOptions): Run {
  const log = new LogFile(logFile);
  const streams = { stdout: "piped", stderr: "piped" } as const;
  const process = spawnWithParent(Deno.execPath(), { args, env, cwd, clearEnv: true, ...streams });
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
    await printed;
    log.close();
    over.abort();
    firstLine.reject(new Error("ended"));
    return signal ?? `code ${code}: ${lastMessage(tail)}`;
  });
  const untilReady = readyWithin(ready(firstLine.promise, over.signal), over.signal, startTimeoutMs).catch(
    (error: Error) => {
      throw new Error(`${name} ${error.message}: ${lastMessage(tail)} (see ${logFile})`);
    },
  );
  untilReady.catch(() => undefined); // awaited by the caller, maybe later
  return { process, ready: untilReady, ended };
}

async function readyWithin(ready: Promise<void>, over: AbortSignal, startTimeoutMs: number): Promise<void> {
  const serving = new Promise<void>((resolve, reject) => {
    over.addEventListener("abort", () => reject(new Error("ended at start")));
    // The reason is on stderr, which is read to its end before `over` is aborted.
    ready.then(resolve, () => undefined);
  });
  await within(serving, startTimeoutMs, () => {
    throw new Error(`did not serve within ${startTimeoutMs / 1000} s`);
  });
}

/** The error that the child printed, without Deno's prefix, else the last line. */
function lastMessage(tail: string[]): string {
  const error = tail.find((line) => line.startsWith("error:"));
  const message = error?.replace(/^error: (Uncaught )?(\(in promise\) )?(Error: )?/, "");
  return message ?? tail.at(-1) ?? "no output";
}

import { createInterface } from "node:readline";
import { Readable } from "node:stream";

const RESTART_PAUSE_MS = 250;
const STOP_PATIENCE_MS = 8_000;

export type ChildOptions = {
  name: string;
  args: string[];
  env: Record<string, string>;
  cwd: string;
  /** Where everything it prints is kept. */
  logFile: string;
  /** Settles when it serves; given the first line it printed. Rejects or never settles: the start fails after `patienceMs`. */
  ready: (firstLine: Promise<string>) => Promise<void>;
  patienceMs: number;
  /** Told of each end that nobody asked for; it is started again. */
  onUnexpectedEnd: (line: string) => void;
};

/**
 * One child of the stack, run by this Deno with exactly the given environment. When it dies unasked it is started
 * again, as the hosted platform does. Its stdin stays open as long as this process lives, so it can tell that it was orphaned.
 */
export class ChildProcess {
  readonly #options: ChildOptions;
  #process: Deno.ChildProcess | undefined;
  #stopping = false;

  constructor(options: ChildOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Starts it and waits until it serves. Throws one line with the last it printed. */
  async start(): Promise<void> {
    const { args, env, cwd, logFile, ready, patienceMs, name } = this.#options;
    const process = new Deno.Command(Deno.execPath(), {
      args,
      env,
      cwd,
      clearEnv: true,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#process = process;
    const firstLine = Promise.withResolvers<string>();
    firstLine.promise.catch(() => undefined);
    const tail: string[] = [];
    const log = await Deno.open(logFile, { create: true, append: true });
    const keep = (line: string, isError: boolean) => {
      if (!isError) firstLine.resolve(line);
      tail.push(line);
      if (tail.length > 20) tail.shift();
      log.writeSync(new TextEncoder().encode(`${line}\n`));
    };
    const printed = Promise.all([
      readLines(process.stdout, (line) => keep(line, false)),
      readLines(process.stderr, (line) => keep(line, true)),
    ]);
    const ended = process.status.then(async (status) => {
      await printed;
      log.close();
      if (this.#process === process) this.#process = undefined;
      firstLine.reject(new Error("ended"));
      return status;
    });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const outcome = await Promise.race([
      ready(firstLine.promise).then(
        () => "ready" as const,
        () => ended.then(() => "ended" as const),
      ),
      ended.then(() => "ended" as const),
      new Promise<"late">((resolve) => {
        timer = setTimeout(() => resolve("late"), patienceMs);
      }),
    ]);
    clearTimeout(timer);
    if (outcome !== "ready") {
      await this.stop();
      const why = outcome === "late" ? `did not serve within ${patienceMs / 1000} s` : "ended at start";
      const said = tail.find((line) => line.startsWith("error:")) ?? tail.at(-1) ?? "it printed nothing";
      throw new Error(`${name} ${why}: ${said} (see ${logFile})`);
    }
    ended.then((status) => this.#restartUnlessStopping(status, tail.at(-1)));
  }

  /** Ends it with SIGTERM, and with SIGKILL when it does not listen. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const process = this.#process;
    if (!process) return;
    const timer = setTimeout(() => this.kill("SIGKILL"), STOP_PATIENCE_MS);
    this.kill("SIGTERM");
    await process.status;
    clearTimeout(timer);
  }

  /** For fault tests: sends a signal; an ended child comes back by itself. */
  kill(signal: Deno.Signal): void {
    try {
      this.#process?.kill(signal);
    } catch {
      // It has ended already.
    }
  }

  async #restartUnlessStopping(status: Deno.CommandStatus, lastLine: string | undefined): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, RESTART_PAUSE_MS));
    if (this.#stopping) return;
    const how = status.signal ?? `code ${status.code}`;
    this.#options.onUnexpectedEnd(`${this.name} ended (${how}) and is started again: ${lastLine ?? ""}`);
    await this.start().catch((error: Error) => {
      if (!this.#stopping) this.#options.onUnexpectedEnd(error.message);
    });
  }
}

async function readLines(stream: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<void> {
  for await (const line of createInterface({ input: Readable.from(stream) })) onLine(line);
}

import process from "node:process";
import { parseArgs, type ParseArgsConfig } from "node:util";

/** The message of an error in one line, without its stack trace. */
export function oneLine(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error);
  return message.replace(/\s*\n\s*/g, " ").trim();
}

/** As parseArgs of node:util. Throws one line that names a wrong option. */
export function parseOptions<const Config extends ParseArgsConfig>(
  config: Config,
): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config);
  } catch (error) {
    const [said] = (error instanceof Error ? error.message : String(error)).split(/\. |\n/);
    throw new Error(`${said}: --help lists what there is.`);
  }
}

/** The number in an option's text. Throws one line that names the option. */
export function readNumber(option: string, text: string, least: number, most: number, isWhole = true): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= least && value <= most && (Number.isInteger(value) || !isWhole)) return value;
  throw new Error(`--${option} must be a number from ${least} to ${most}, not "${text}".`);
}

/** Writes on standard output. When its terminal or pipe is closed nothing happens: what was started still has to stop in order. */
export function write(text: string): void {
  try {
    Deno.stdout.writeSync(new TextEncoder().encode(text));
  } catch {
    // Closed, see above.
  }
}

/**
 * Runs a command and exits with its code; with --help or -h it prints `help` instead. An error is printed in one line, and the exit code
 * is `failed`.
 */
export function runMain(
  help: string,
  main: () => Promise<number>,
  { failed = 1, describe = oneLine }: { failed?: number; describe?: (error: unknown) => string } = {},
): void {
  if (process.argv.slice(2).some((argument) => argument === "--help" || argument === "-h")) {
    console.log(help);
    process.exit(0);
  }
  main().then(
    (code) => process.exit(code),
    (error: unknown) => {
      console.error(describe(error));
      process.exit(failed);
    },
  );
}

/** A killed npm sends no signal, so the parent's id is polled. */
const CHECK_PARENT_MS = 500;

/**
 * Aborted at the first Ctrl-C or SIGTERM, or when the npm that runs this command has ended. Later signals are ignored,
 * because npm doubles each Ctrl-C and an orderly stop takes a bounded time. SIGHUP is not handled, so that nohup works.
 */
export function stopSignals(): AbortSignal {
  const asked = new AbortController();
  const stop = () => asked.abort(new Error("It was asked to stop."));
  for (const signal of Deno.build.os === "windows" ? (["SIGINT"] as const) : (["SIGINT", "SIGTERM"] as const)) {
    Deno.addSignalListener(signal, stop);
  }
  if (Deno.env.get("npm_lifecycle_event") !== undefined) {
    const parent = Deno.ppid;
    const timer = setInterval(() => {
      if (Deno.ppid === parent) return;
      clearInterval(timer);
      stop();
    }, CHECK_PARENT_MS);
    timer.unref();
  }
  return asked.signal;
}

const REDRAW_MS = 100;
const NAME_WIDTH = 32;

/** A part of a start or of the demo, how long it took, and what it made. */
export type Stage = { name: string; ms: number; result?: string };

export type StageDisplay = {
  onStageStart: (name: string) => void;
  onStage: (stage: Stage) => void;
  onProblem: (line: string) => void;
  /** Ends the line of a stage that failed. */
  end: () => void;
};

/** Shows the current stage, on a terminal with its running time, and the time of each finished one. */
export function showStages(write: (text: string) => void, isTerminal: boolean): StageDisplay {
  let current: { name: string; start: number; timer: ReturnType<typeof setInterval> | undefined } | undefined;
  const leave = (ending: string) => {
    clearInterval(current?.timer);
    if (current) write(ending);
    current = undefined;
  };
  const line = (name: string, ms: number) => `  ${name.padEnd(NAME_WIDTH)}${String(Math.round(ms)).padStart(6)} ms`;
  const begin = (name: string) => {
    const start = performance.now();
    const redraw = () => write(`\r${line(name, performance.now() - start)}`);
    const timer = isTerminal ? setInterval(redraw, REDRAW_MS) : undefined;
    current = { name, start, timer };
    write(`  ${name.padEnd(NAME_WIDTH)}`);
  };
  return {
    onStageStart: begin,
    onStage: ({ name, ms, result = "" }) => {
      const text = isTerminal ? `\r${line(name, ms)}` : line("", ms).slice(NAME_WIDTH + 2);
      leave(`${`${text}  ${result}`.trimEnd()}\n`);
    },
    onProblem: (text) => {
      const name = current?.name;
      leave("\n");
      write(`  ! ${text}\n`);
      if (name !== undefined) begin(name);
    },
    end: () => leave("\n"),
  };
}

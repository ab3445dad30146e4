import process from "node:process";
import { parseArgs, type ParseArgsConfig } from "node:util";

/** The message of an error in one line, without its stack trace. */
export function oneLine(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error);
  return message.replace(/\s*\n\s*/g, " ").trim();
}

/** parseArgs of node:util. Throws one line that names a wrong option. */
export function parseOptions<const Config extends ParseArgsConfig>(
  config: Config,
): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config);
  } catch (error) {
    const [said] = (error instanceof Error ? error.message : String(error)).split(/\. |\n/);
    throw new Error(`${said}: --help lists the options.`);
  }
}

/** The number in an option's text. Throws one line that names the option. */
export function readNumber(option: string, text: string, least: number, most: number, isWhole = true): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= least && value <= most && (Number.isInteger(value) || !isWhole)) return value;
  throw new Error(`--${option} must be a number from ${least} to ${most}, not "${text}".`);
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
  const stop = () => asked.abort(new Error("It was stopped by a signal."));
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

import process from "node:process";
import { parseArgs, type ParseArgsConfig } from "node:util";
import { oneLine } from "../local/stack/command-line.ts";

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

/** For a command without options: prints its help and returns undefined when asked for, otherwise its other arguments. */
export function argumentsOrHelp(args: string[], help: string, allowPositionals = false): string[] | undefined {
  const options = { help: { type: "boolean", short: "h", default: false } } as const;
  const { values, positionals } = parseOptions({ args, allowPositionals, options });
  if (!values.help) return positionals;
  console.log(help);
  return undefined;
}

/** Runs a command and exits with its code. An error is printed in one line, and the exit code is `failed`. */
export function runMain(
  main: () => Promise<number>,
  { failed = 1, describe = oneLine }: { failed?: number; describe?: (error: unknown) => string } = {},
): void {
  main().then(
    (code) => process.exit(code),
    (error: unknown) => {
      console.error(describe(error));
      process.exit(failed);
    },
  );
}

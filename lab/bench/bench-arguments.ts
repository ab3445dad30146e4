import { parseArgs } from "node:util";

export type BenchArguments = { names: string[]; quick: boolean; json: boolean; help: boolean };

/** Throws one line that names a wrong option, or a benchmark that there is not. */
export function readBenchArguments(args: string[], known: string[]): BenchArguments {
  const { values, positionals } = parse(args);
  const unknown = positionals.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`There is no benchmark "${unknown}". There are: ${known.join(", ")}.`);
  return { ...values, names: positionals.length === 0 ? known : known.filter((name) => positionals.includes(name)) };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        quick: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    const [said] = (error instanceof Error ? error.message : String(error)).split(/\. |\n/);
    throw new Error(`${said}: --help lists what there is.`);
  }
}

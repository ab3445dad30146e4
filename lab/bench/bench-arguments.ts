import { parseOptions } from "../../tools/command-line.ts";

type BenchArguments = { names: string[]; quick: boolean; json: boolean; help: boolean };

/** Throws one line that names a wrong option or an unknown benchmark. */
export function readBenchArguments(args: string[], known: string[]): BenchArguments {
  const { values, positionals } = parseOptions({
    args,
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const unknown = positionals.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`There is no benchmark "${unknown}". There are: ${known.join(", ")}.`);
  return { ...values, names: positionals.length === 0 ? known : known.filter((name) => positionals.includes(name)) };
}

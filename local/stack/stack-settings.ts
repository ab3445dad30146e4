import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { PROJECT_ROOT } from "./project-root.ts";
import { readProviderSettings } from "./provider-settings.ts";
import type { StackOptions } from "./stack-types.ts";

export const DEFAULT_PORT = 54321;

/**
 * What the command line and the environment say about a stack. Throws one line that names a wrong option.
 *
 * @param flag the command's own option: `--reset` of start, `--json` of demo
 */
export function readStackSettings(
  args: string[],
  environment: (name: string) => string | undefined,
  flag: "reset" | "json",
): { stack: StackOptions; flag: boolean; help: boolean } {
  const values = parse(args, flag);
  const port = Number(values.port);
  if (!/^\d+$/.test(values.port) || port > 65_535) {
    throw new Error(`--port must be a number from 0 to 65535 (0: any free one), not "${values.port}".`);
  }
  if (values.data === "") throw new Error("--data must name a folder.");
  const databaseUrl = environment("KEYFRAME_DATABASE_URL") || undefined;
  if (databaseUrl !== undefined && !/^postgres(ql)?:$/.test(URL.parse(databaseUrl)?.protocol ?? "")) {
    // Never repeated: what was meant to be an address may hold a password all the same.
    throw new Error(
      "KEYFRAME_DATABASE_URL must be an address such as postgres://user:password@127.0.0.1:5432/postgres.",
    );
  }
  const stack: StackOptions = {
    dataDir: resolve(values.data),
    port,
    databaseUrl,
    provider: readProviderSettings(environment),
  };
  return { stack, flag: values.flag, help: values.help };
}

function parse(args: string[], flag: string): { port: string; data: string; help: boolean; flag: boolean } {
  try {
    const { values } = parseArgs({
      args,
      options: {
        port: { type: "string", default: String(DEFAULT_PORT) },
        data: { type: "string", default: join(PROJECT_ROOT, ".keyframe") },
        help: { type: "boolean", short: "h", default: false },
        [flag]: { type: "boolean", default: false },
      },
    });
    const { port, data, help } = values;
    // A computed option's type is not known to parseArgs.
    return { port: String(port), data: String(data), help: help === true, flag: values[flag] === true };
  } catch (error) {
    const [said] = (error instanceof Error ? error.message : String(error)).split(/\. |\n/);
    throw new Error(`${said}: --help lists what there is.`);
  }
}

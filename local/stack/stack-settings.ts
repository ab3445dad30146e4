import { join } from "node:path";
import { parseArgs } from "node:util";
import { PROJECT_ROOT } from "./project-root.ts";
import type { StackOptions } from "./stack-types.ts";

export const DEFAULT_PORT = 54321;

/** What the command line and the environment say about a stack. Throws one line that names a wrong option. */
export function readStackSettings(args: string[], environment: (name: string) => string | undefined) {
  const { values } = parseArgs({
    args,
    options: {
      port: { type: "string", default: String(DEFAULT_PORT) },
      reset: { type: "boolean", default: false },
      data: { type: "string", default: join(PROJECT_ROOT, ".keyframe") },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new Error(`--port must be a number from 0 to 65535 (0: any free one), not ${values.port}`);
  }
  const stack: StackOptions = {
    dataDir: values.data,
    port,
    databaseUrl: environment("KEYFRAME_DATABASE_URL") || undefined,
    replicateApiToken: environment("REPLICATE_API_TOKEN") || undefined,
  };
  return { stack, reset: values.reset, json: values.json, help: values.help };
}

import { parseArgs } from "node:util";
import { readEnvironment } from "../../shared/platform/environment.ts";
import { generateEnvironment } from "../../supabase/functions/keyframe-generate/environment.ts";
import type { RowSource } from "../models-check/read-rows.ts";
import { readArguments } from "../models-check/read-arguments.ts";

export type LiveCheckArguments = {
  help: boolean;
  /** Whoever runs it has agreed to the cost already. */
  yes: boolean;
  /** Null: there is no token, so nothing can be checked. */
  token: string | null;
  baseUrl: string;
  isAllowedOutput: (url: string) => boolean;
  rows: RowSource;
};

/** What the function `generate` reads about the provider, except that here the token may be missing. */
const providerEnvironment = generateEnvironment
  .pick({
    KEYFRAME_REPLICATE_API_TOKEN: true,
    KEYFRAME_REPLICATE_API_BASE_URL: true,
    KEYFRAME_REPLICATE_OUTPUT_HOSTS: true,
  })
  .partial({ KEYFRAME_REPLICATE_API_TOKEN: true });

/** What the command line and the environment say. Throws one line that names what is wrong, never a secret. */
export function readCheckArguments(
  args: string[],
  environment: (name: string) => string | undefined,
): LiveCheckArguments {
  const { help, yes, migrations, "database-url": databaseUrl } = parse(args);
  const env = readEnvironment(providerEnvironment, environment);
  // The table is chosen as models:check chooses it, which takes the rest of the environment for the same words.
  const chosen = readArguments(
    [...(migrations ? ["--migrations"] : []), ...(databaseUrl === undefined ? [] : ["--database-url", databaseUrl])],
    environment,
  );
  return {
    help,
    yes,
    token: env.KEYFRAME_REPLICATE_API_TOKEN ?? null,
    baseUrl: env.KEYFRAME_REPLICATE_API_BASE_URL,
    isAllowedOutput: env.KEYFRAME_REPLICATE_OUTPUT_HOSTS,
    rows: chosen.rows,
  };
}

function parse(args: string[]) {
  try {
    const { values } = parseArgs({
      args,
      options: {
        yes: { type: "boolean", short: "y", default: false },
        migrations: { type: "boolean", default: false },
        "database-url": { type: "string" },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    return values;
  } catch (error) {
    const [said] = (error instanceof Error ? error.message : String(error)).split(/\. |\n/);
    throw new Error(`${said}: --help lists what there is.`);
  }
}

import { join, resolve } from "node:path";
import { readNumber } from "../../command-line/run-main.ts";
import type { Stage } from "../../command-line/show-stages.ts";
import { PROJECT_ROOT } from "./project-root.ts";

/** `process`: `npm run worker` by the Data API, without the two edge functions; `database`: the same by a connection to Postgres. */
const WORKERS = ["functions", "process", "database"] as const;
export type Workers = (typeof WORKERS)[number];

/** Throws one line that names the option. */
export function readWorkers(option: string, text: string | undefined): Workers {
  const workers = WORKERS.find((each) => each === (text || "functions"));
  if (workers === undefined) throw new Error(`${option} must be ${WORKERS.join(", ")}, not "${text}".`);
  return workers;
}

export type StackOptions = {
  /** The folder for data, keys and logs; created when missing. */
  dataDir: string;
  /** The gateway's port on 127.0.0.1; 0 for a free one. */
  port: number;
  /** KEYFRAME_DATABASE_URL: URL, with a superuser, of an empty Postgres to use instead of the embedded one. */
  databaseUrl?: string | undefined;
  /** KEYFRAME_REPLICATE_API_TOKEN: the real Replicate instead of the simulator. */
  provider?: ProviderSettings | undefined;
  /** How long the simulator takes, in ms, and how wide its pictures are, in pixels. */
  simulator?: { startDelayMs: number; runDelayMs: number; imageWidth?: number } | undefined;
  /** For tests and benchmarks; by default the functions. */
  workers?: Workers | undefined;
  /** For tests: the folder whose `supabase` folder runs, instead of this checkout. */
  project?: string | undefined;
  /** For fault tests: a file that makes Storage fail (local/platform/storage-faults.ts). */
  storageFaultFile?: string | undefined;
  /** False for a temporary stack: nothing is flushed to disk. */
  durable?: boolean | undefined;
  /** Builds the dashboard, unless it is built already. */
  dashboard?: boolean | undefined;
  /** Deletes the data first. */
  reset?: boolean | undefined;
  /** Cancels the start: what has started is stopped, and the start rejects. */
  signal?: AbortSignal | undefined;
  onStageStart?: ((name: string) => void) | undefined;
  onStage?: ((stage: Stage) => void) | undefined;
  /** Called with a line for the person, such as the restart of a child. */
  onProblem?: ((line: string) => void) | undefined;
};

/** The options of a command that uses a stack. */
export const STACK_OPTIONS = {
  port: { type: "string", default: "54321" },
  data: { type: "string", default: join(PROJECT_ROOT, ".keyframe") },
} as const;

/** The stack's options from the command line and the environment. Throws a one-line error that names a wrong one. */
export function readStackOptions(
  given: { port: string; data: string },
  environment: (name: string) => string | undefined,
): StackOptions {
  const port = readNumber("port", given.port, 0, 65_535);
  if (given.data === "") throw new Error("--data must name a folder.");
  const databaseUrl = environment("KEYFRAME_DATABASE_URL") || undefined;
  if (databaseUrl !== undefined && !/^postgres(ql)?:$/.test(URL.parse(databaseUrl)?.protocol ?? "")) {
    // The value is not shown: it may contain a password.
    throw new Error(
      "KEYFRAME_DATABASE_URL must be an address such as postgres://user:password@127.0.0.1:5432/postgres.",
    );
  }
  return { dataDir: resolve(given.data), port, databaseUrl, provider: readProviderSettings(environment) };
}

/** Variables that may be set besides KEYFRAME_REPLICATE_API_TOKEN. */
const PASSED_ON = [
  "KEYFRAME_REPLICATE_API_BASE_URL",
  "KEYFRAME_REPLICATE_OUTPUT_HOSTS",
  "KEYFRAME_PUBLIC_URL",
  "KEYFRAME_REPLICATE_WEBHOOK_SECRET",
];

const DEFAULT_BASE_URL = "https://api.replicate.com/v1";
const DEFAULT_OUTPUT_HOSTS = "replicate.delivery";

/** The provider instead of the simulator: the functions' variables that were set. */
type ProviderSettings = Record<string, string>;

/** Undefined without KEYFRAME_REPLICATE_API_TOKEN. Throws a one-line error when callbacks could not be verified. */
function readProviderSettings(environment: (name: string) => string | undefined): ProviderSettings | undefined {
  if (!environment("KEYFRAME_REPLICATE_API_TOKEN")) return undefined;
  const variables: ProviderSettings = {};
  for (const name of ["KEYFRAME_REPLICATE_API_TOKEN", ...PASSED_ON]) {
    const value = environment(name);
    if (value) variables[name] = value;
  }
  if (variables.KEYFRAME_PUBLIC_URL !== undefined && variables.KEYFRAME_REPLICATE_WEBHOOK_SECRET === undefined) {
    throw new Error(
      "KEYFRAME_PUBLIC_URL asks Replicate for callbacks, which only KEYFRAME_REPLICATE_WEBHOOK_SECRET can verify: set both or neither.",
    );
  }
  return variables;
}

/** `host:port` of the provider's API and output files. Invalid values are left out: the function refuses them at its start. */
export function providerHosts(variables: ProviderSettings): string[] {
  const outputs = (variables.KEYFRAME_REPLICATE_OUTPUT_HOSTS ?? DEFAULT_OUTPUT_HOSTS)
    .split(",")
    .map((entry) => entry.trim());
  const addresses = [variables.KEYFRAME_REPLICATE_API_BASE_URL ?? DEFAULT_BASE_URL, ...outputs];
  return addresses.flatMap((address) => {
    if (!address.includes("://")) return address === "" ? [] : [`${address}:443`, `*.${address}:443`];
    if (!URL.canParse(address)) return [];
    const { hostname, port, protocol } = new URL(address);
    return [`${hostname}:${port || (protocol === "https:" ? 443 : 80)}`];
  });
}

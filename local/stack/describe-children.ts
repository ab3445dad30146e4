import { join } from "node:path";
import type { Installed } from "../extensions/install-extensions.ts";
import { publicKeySet } from "../platform/session-tokens.ts";
import { DASHBOARD_FOLDER } from "./build-dashboard.ts";
import type { SupervisedOptions } from "./child-process.ts";
import { demoUserOf, type StackKeys } from "./stack-keys.ts";
import { FUNCTION_NAMES, functionArguments, type FunctionName } from "./function-arguments.ts";
import { PROJECT_ROOT } from "./project-root.ts";
import { providerHosts, type StackOptions } from "./stack-settings.ts";
import { functionEnvironments } from "../../shared/platform/environment.ts";
import { waitForPort } from "../network.ts";

/** The children's settings of their stack. */
type Setting = StackOptions & {
  keys: StackKeys;
  url: string;
  port: number;
  simulatorPort: number | undefined;
  functionPorts: Record<string, number>;
};

const START_TIMEOUT_MS = 30_000;

/** An edge function with the environment of the hosted platform and only the permissions it needs. */
export function describeFunction(setting: Setting, name: FunctionName): SupervisedOptions {
  const port = portOf(setting, name);
  const variables = functionVariables(setting, name);
  return {
    ...common(setting, name),
    args: functionArguments(name, port, reachableHosts(setting, name), setting.project),
    env: { ...machineVariables(), ...variables, DENO_SERVE_ADDRESS: `tcp:127.0.0.1:${port}` },
    ready: (_firstLine, ended) => waitForPort(port, ended),
  };
}

/** The functions that `npm run worker` can replace. */
const PROCESSES = { "keyframe-generate": "generate", "keyframe-deliver": "deliver" } as const;
type ProcessName = keyof typeof PROCESSES;
export const PROCESS_NAMES = Object.keys(PROCESSES) as ProcessName[]; // its keys are all there is in it

/** `npm run worker` in place of a function, under the name of that. With a database's URL, by a connection to Postgres. */
export function describeWorker(setting: Setting, name: ProcessName, databaseUrl?: string): SupervisedOptions {
  const variables = functionVariables(setting, name);
  if (databaseUrl !== undefined) variables.SUPABASE_DB_URL = databaseUrl;
  return {
    ...common(setting, name),
    args: [
      "run",
      "--no-prompt",
      "--allow-net",
      "--allow-env",
      join(PROJECT_ROOT, "worker/main.ts"),
      "--only",
      PROCESSES[name],
    ],
    env: { ...machineVariables(), ...variables },
    ready: async (firstLine) => {
      const line = await firstLine;
      // It waits for the gateway, which starts at the same time.
      if (!/"worker_(started|waits)"/.test(line)) throw new Error(line);
    },
  };
}

/** Name of a function → its address. */
export const describeAddresses = (setting: Pick<Setting, "functionPorts">): Record<string, string> =>
  Object.fromEntries(FUNCTION_NAMES.map((name) => [name, `http://127.0.0.1:${portOf(setting, name)}`]));

export function describeGateway(setting: Setting, databaseUrl: string): SupervisedOptions {
  return module(setting, "gateway", "local/platform/main.ts", {
    GATEWAY_PORT: String(setting.port),
    PUBLIC_URL: setting.url,
    DATABASE_URL: databaseUrl,
    PLATFORM_JWK: JSON.stringify(setting.keys.signingKey),
    LITE_JWT_SECRET: setting.keys.liteJwtSecret,
    PUBLISHABLE_KEY: setting.keys.publishableKey,
    SECRET_KEY: setting.keys.secretKey,
    // bcrypt at its usual cost takes a tenth of a second of the gateway's only thread; a temporary stack has nobody's real password.
    ...(setting.durable === false ? { LITE_AUTH_BCRYPT_COST: "4" } : {}),
    STORAGE_DIR: join(setting.dataDir, "storage"),
    ...(setting.storageFaultFile === undefined ? {} : { STORAGE_FAULT_FILE: setting.storageFaultFile }),
    FUNCTIONS: JSON.stringify(describeAddresses(setting)),
    DASHBOARD_DIR: DASHBOARD_FOLDER,
    DEMO_USER: JSON.stringify(demoUserOf(setting.keys)),
  });
}

export function describeScheduler(setting: Setting, databaseUrl: string, extensions: Installed): SupervisedOptions {
  return module(setting, "scheduler", "local/extensions/main.ts", {
    DATABASE_URL: databaseUrl,
    RUN_PG_NET: extensions.pg_net === "stand-in" ? "1" : "0",
    RUN_PG_CRON: extensions.pg_cron === "stand-in" ? "1" : "0",
  });
}

export function describeSimulator(setting: Setting, port: number): SupervisedOptions {
  return module(setting, "simulator", "local/simulator/main.ts", {
    SIMULATOR_PORT: String(port),
    SIMULATOR_TOKEN: setting.keys.replicateToken,
    SIMULATOR_WEBHOOK_SECRET: setting.keys.replicateWebhookSecret,
    SIMULATOR_START_DELAY_MS: String(setting.simulator?.startDelayMs ?? 400),
    SIMULATOR_RUN_DELAY_MS: String(setting.simulator?.runDelayMs ?? 1200),
    SIMULATOR_IMAGE_WIDTH: String(setting.simulator?.imageWidth ?? 640),
  });
}

/** A part of the local stack: trusted code with all permissions, which prints one line when it serves. */
function module(setting: Setting, name: string, path: string, variables: Record<string, string>): SupervisedOptions {
  return {
    ...common(setting, name),
    args: ["run", "-A", "--unstable-no-legacy-abort", join(PROJECT_ROOT, path)],
    env: { ...machineVariables(), ...variables },
    ready: async (firstLine) => {
      const line = await firstLine;
      if (!line.includes('"ready":true')) throw new Error(line);
    },
  };
}

function common(setting: Setting, name: string) {
  return {
    name,
    cwd: PROJECT_ROOT,
    logFile: join(setting.dataDir, "logs", `${name}.log`),
    startTimeoutMs: START_TIMEOUT_MS,
    onUnexpectedEnd: setting.onProblem ?? (() => undefined),
  };
}

/** Only the variables that the function reads. */
function functionVariables(
  { keys, url, simulatorPort, provider }: Setting,
  name: FunctionName,
): Record<string, string> {
  const simulator = `http://127.0.0.1:${simulatorPort}`;
  const all = {
    SUPABASE_URL: url,
    SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: keys.publishableKey }),
    SUPABASE_SECRET_KEYS: JSON.stringify({ default: keys.secretKey }),
    SUPABASE_JWKS: JSON.stringify(publicKeySet(keys.signingKey)),
    KEYFRAME_ALLOW_LOCAL_WEBHOOKS: "1",
    KEYFRAME_KICK_SECRET: keys.kickSecret,
    KEYFRAME_REPLICATE_WEBHOOK_SECRET: keys.replicateWebhookSecret,
    ...(provider ?? {
      KEYFRAME_REPLICATE_API_TOKEN: keys.replicateToken,
      KEYFRAME_REPLICATE_API_BASE_URL: `${simulator}/v1`,
      KEYFRAME_REPLICATE_OUTPUT_HOSTS: simulator,
      KEYFRAME_PUBLIC_URL: url,
    }),
  };
  return Object.fromEntries(Object.entries(all).filter(([variable]) => variable in functionEnvironments[name].shape));
}

function reachableHosts(setting: Setting, name: FunctionName): string[] | "anywhere" {
  // Receivers may be anywhere; keyframe-deliver checks every address it connects to.
  if (name === "keyframe-deliver") return "anywhere";
  const gateway = `127.0.0.1:${setting.port}`;
  if (name !== "keyframe-generate") return [gateway];
  const provider = setting.provider ? providerHosts(setting.provider) : [`127.0.0.1:${setting.simulatorPort}`];
  return [gateway, ...provider];
}

function portOf(setting: Pick<Setting, "functionPorts">, name: FunctionName): number {
  const port = setting.functionPorts[name];
  if (port === undefined) throw new Error(`No port was chosen for ${name}`);
  return port;
}

/** The variables a program needs on any machine; no other is passed on. */
function machineVariables(): Record<string, string> {
  const names = ["PATH", "HOME", "TMPDIR", "DENO_DIR", "LANG", "TZ", "SYSTEMROOT"];
  const kept = Object.entries(Deno.env.toObject()).filter(([name]) => names.includes(name));
  return { ...Object.fromEntries(kept), NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" };
}

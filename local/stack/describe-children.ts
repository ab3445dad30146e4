import { join } from "node:path";
import type { Installed } from "../extensions/install-extensions.ts";
import type { SchedulerSettings } from "../extensions/main.ts";
import type { GatewaySettings } from "../platform/main.ts";
import { publicKeySet } from "../platform/session-tokens.ts";
import type { SimulatorOptions } from "../simulator/settings.ts";
import { DASHBOARD_FOLDER } from "./build-dashboard.ts";
import type { SupervisedOptions } from "./child-process.ts";
import { demoUserOf, type StackKeys } from "./stack-keys.ts";
import { FUNCTION_NAMES, functionArguments, type FunctionName } from "./function-arguments.ts";
import { PROJECT_ROOT } from "./project-root.ts";
import { providerHosts, type StackOptions } from "./stack-settings.ts";
import { functionEnvironments } from "../../shared/platform/environment.ts";
import { waitForPort } from "../network.ts";

/** The settings of a stack that its children need. */
type Setting = StackOptions & {
  keys: StackKeys;
  url: string;
  port: number;
  simulatorPort: number | undefined;
  functionPorts: Record<string, number>;
};

/** What every child needs. */
type Place = Pick<Setting, "dataDir" | "onProblem">;

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
export const PROCESS_NAMES = Object.keys(PROCESSES) as ProcessName[]; // PROCESSES has no other keys

/** `npm run worker` in place of a function, under the function's name. With a database's URL it uses a connection to Postgres. */
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
      // The worker waits for the gateway, which starts at the same time.
      if (!/"worker_(started|waits)"/.test(line)) throw new Error(line);
    },
  };
}

/** Name of a function → its address. */
export const describeAddresses = (setting: Pick<Setting, "functionPorts">): Record<string, string> =>
  Object.fromEntries(FUNCTION_NAMES.map((name) => [name, `http://127.0.0.1:${portOf(setting, name)}`]));

export function describeGateway(setting: Setting, databaseUrl: string): SupervisedOptions {
  const { port, keys, url, dataDir, storageFaultFile, durable } = setting;
  const settings: GatewaySettings = {
    port,
    publicUrl: url,
    databaseUrl,
    signingKey: keys.signingKey,
    liteSecret: keys.liteJwtSecret,
    publishableKey: keys.publishableKey,
    secretKey: keys.secretKey,
    storageFolder: join(dataDir, "storage"),
    storageFaultFile,
    functions: describeAddresses(setting),
    dashboard: { folder: DASHBOARD_FOLDER, demoUser: demoUserOf(keys) },
  };
  // bcrypt at its usual cost takes a tenth of a second of the gateway's only thread; a temporary stack has nobody's real password.
  const variables = durable === false ? { LITE_AUTH_BCRYPT_COST: "4" } : {};
  return part(setting, "gateway", "local/platform/main.ts", settings, variables);
}

export function describeScheduler(place: Place, databaseUrl: string, extensions: Installed): SupervisedOptions {
  const standIns = (["pg_net", "pg_cron"] as const).filter((name) => extensions[name] === "stand-in");
  const settings: SchedulerSettings = { databaseUrl, standIns };
  return part(place, "scheduler", "local/extensions/main.ts", settings);
}

export function describeSimulator(setting: Setting, port: number): SupervisedOptions {
  const { replicateToken: token, replicateWebhookSecret: webhookSecret } = setting.keys;
  const settings: SimulatorOptions = {
    port,
    token,
    webhookSecret,
    ...(setting.simulator ?? { startDelayMs: 400, runDelayMs: 1200 }),
  };
  return part(setting, "simulator", "local/simulator/main.ts", settings);
}

/** Trusted code with all permissions, which prints one line when it serves: local/run-child.ts. */
function part(
  place: Place,
  name: string,
  path: string,
  settings: object,
  variables: Record<string, string> = {},
): SupervisedOptions {
  return {
    ...common(place, name),
    args: ["run", "-A", "--unstable-no-legacy-abort", join(PROJECT_ROOT, path)],
    env: { ...machineVariables(), ...variables, SETTINGS: JSON.stringify(settings) },
    ready: async (firstLine) => {
      const line = await firstLine;
      if (!line.includes('"ready":true')) throw new Error(line);
    },
  };
}

function common({ dataDir, onProblem }: Place, name: string) {
  return {
    name,
    cwd: PROJECT_ROOT,
    logFile: join(dataDir, "logs", `${name}.log`),
    startTimeoutMs: START_TIMEOUT_MS,
    onUnexpectedEnd: onProblem ?? (() => undefined),
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
export function machineVariables(): Record<string, string> {
  const names = ["PATH", "HOME", "TMPDIR", "DENO_DIR", "LANG", "TZ", "SYSTEMROOT"];
  const kept = Object.entries(Deno.env.toObject()).filter(([name]) => names.includes(name));
  return { ...Object.fromEntries(kept), NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" };
}

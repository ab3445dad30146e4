import type { Installed } from "../extensions/install-extensions.ts";
import type { StackKeys } from "./stack-keys.ts";
import type { ChildProcess } from "./child-process.ts";
import type { ProviderSettings } from "./provider-settings.ts";

export type StackOptions = {
  /** Where data, keys and logs are kept; made when missing. */
  dataDir: string;
  /** The one port that clients see, on 127.0.0.1; 0 for a free one. */
  port: number;
  /** KEYFRAME_DATABASE_URL: a superuser's address of an otherwise empty Postgres to use instead of the embedded one. */
  databaseUrl?: string | undefined;
  /** KEYFRAME_REPLICATE_API_TOKEN: the real Replicate instead of the simulator. */
  provider?: ProviderSettings | undefined;
  /** How long the simulator takes, in ms. */
  simulator?: { startDelayMs: number; runDelayMs: number } | undefined;
  /** A file that switches faults of Storage on (local/platform/storage-faults.ts), for runs that look for what gets lost. */
  storageFaultFile?: string | undefined;
  /** False for a throw-away stack: nothing is flushed to disk. */
  durable?: boolean | undefined;
  /** Builds the dashboard, unless it is built already. */
  dashboard?: boolean | undefined;
  /** Throws the data away first. */
  reset?: boolean | undefined;
  /** Gives the start up: what had started is taken down, and the start rejects. */
  signal?: AbortSignal | undefined;
  /** Told of each stage when it begins. */
  onStageStart?: ((name: string) => void) | undefined;
  /** Told of each stage when it is done. */
  onStage?: ((stage: Stage) => void) | undefined;
  /** Told of children that died and came back, and the like. */
  onProblem?: ((line: string) => void) | undefined;
};

/** A part of the start and how long it took. */
export type Stage = { name: string; ms: number };

/** A running stack. */
export type Stack = {
  /** What clients call: /auth/v1, /rest/v1, /storage/v1, /functions/v1 are below it. */
  url: string;
  keys: StackKeys;
  demoUser: { email: string; password: string };
  /** The superuser's address of the database. */
  databaseUrl: string;
  /** The address migrations ran with: the role `postgres`, as on the hosted platform. */
  migrationUrl: string;
  /** Which extensions are real here. */
  extensions: Installed;
  /** Null with the real Replicate. */
  simulator: { url: string } | null;
  /** By name: api, keyframe-generate, keyframe-deliver, keyframe-replicate-webhook, gateway, scheduler, simulator. For fault tests. */
  children: Map<string, ChildProcess>;
  /** By name: where each function itself listens, behind the gateway. For tests and benchmarks. */
  functionUrls: Record<string, string>;
  stages: Stage[];
  /** Ends everything; may be called twice. */
  stop(): Promise<void>;
};

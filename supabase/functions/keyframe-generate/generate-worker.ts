import { type CallDatabase, retryTransientErrors } from "../../../shared/platform/call-database.ts";
import type { FunctionEnvironment } from "../../../shared/platform/environment.ts";
import type { Log } from "../../../shared/platform/log.ts";
import { createWorker } from "../../../shared/worker/worker.ts";
import { createStorage } from "./files/storage.ts";
import { createProvider } from "./provider/provider.ts";
import { createClaim } from "./tasks/claim.ts";
import { createDatabase } from "./tasks/database.ts";
import { identify } from "./tasks/task.ts";
import { GENERATE_LIMITS, runTask } from "./tasks/run-task.ts";

/** How often a run is polled when the provider cannot send callbacks. */
const POLL_SECONDS = 2;

type Settings = {
  environment: Omit<FunctionEnvironment<"keyframe-generate">, "KEYFRAME_KICK_SECRET">;
  callDatabase: CallDatabase;
  log: Log;
  /** The address of the project that a process of `npm run worker` works for. A function works for the project that kicks it. */
  address?: string | undefined;
  /** Milliseconds since 1970. */
  now?: () => number;
};

/** A worker of `generate`, for the edge function and for `npm run worker`. */
export function createGenerateWorker({ environment, callDatabase, log, address, now = Date.now }: Settings) {
  const { SUPABASE_URL: platformUrl, SUPABASE_SECRET_KEYS: secretKey } = environment;
  const publicUrl = environment.KEYFRAME_PUBLIC_URL ?? (platformUrl.startsWith("https:") ? platformUrl : null);
  const pollSeconds = publicUrl === null ? POLL_SECONDS : null;
  const callUntil = retryTransientErrors(callDatabase, GENERATE_LIMITS.maxOpen / 4);
  const deps = {
    provider: createProvider({
      token: environment.KEYFRAME_REPLICATE_API_TOKEN,
      baseUrl: environment.KEYFRAME_REPLICATE_API_BASE_URL,
      fetch,
      now,
    }),
    storage: createStorage(platformUrl, secretKey, fetch),
    outputs: { isAllowed: environment.KEYFRAME_REPLICATE_OUTPUT_HOSTS, fetch },
    publicUrl,
    platformUrl,
    log,
    now,
  };
  return createWorker({
    claim: createClaim(callDatabase, pollSeconds, address),
    work: (task, signal) =>
      runTask(task, { ...deps, database: createDatabase(callDatabase, callUntil(signal), pollSeconds) }, signal),
    identify: (task) => ({ task: task.task, ...identify(task) }),
    log,
    limits: GENERATE_LIMITS,
  });
}

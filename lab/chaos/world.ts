import { join } from "node:path";
import postgres from "postgres";
import type { KeyframeClient } from "../../client/index.ts";
import type { StackOptions } from "../../local/stack/stack-settings.ts";
import { type Stack, startStack } from "../../local/stack/start-stack.ts";
import { within } from "../../local/bounded-wait.ts";
import type { Step } from "../../shared/contract/fields.ts";
import { retry } from "../../shared/platform/retry.ts";
import type { Random } from "./random.ts";
import { Receivers } from "./receivers.ts";

type Take = { projectId: string; predictionId: string; step: Step };

/** An endpoint of a user. A steady one is never changed, so it must get every event of its owner. */
export type Endpoint = { hook: string; webhookId: string; steady: boolean };

/** A signed-in user: a client, random numbers, and what they know. */
export type User = {
  userId: string;
  client: KeyframeClient;
  /** A server that acts for the user and adds credit; null for a user who does not pay in advance. */
  server: KeyframeClient | null;
  random: Random;
  projects: string[];
  /** Frames that have succeeded, as far as the user knows. */
  frames: Take[];
  references: string[];
  endpoints: Endpoint[];
  /** Predictions that have not ended as far as the user knows, by their id. */
  open: Map<string, Take>;
  /** The account is deleted or about to be: the user starts nothing new. */
  isDeleted: boolean;
  /** The current action. */
  busy: Promise<void>;
};

/** Shared by load, faults and checks. */
export type World = {
  stack: Stack;
  dataDir: string;
  /** Postgres is that of KEYFRAME_DATABASE_URL: the run must not kill its processes. */
  isGiven: boolean;
  /** See local/platform/storage-faults.ts. */
  storageFaultFile: string;
  /** A superuser's connections. Callers must expect Postgres to be killed. */
  sql: postgres.Sql;
  receivers: Receivers;
  users: User[];
  ledger: Ledger;
};

/** A start as its user knows it; one for each take. One with neither prediction nor refusal is unanswered: it may have been accepted. */
export type Start = {
  key: string;
  owner_id: string;
  project_id: string;
  prompt: string;
  /** The reference image, if any. */
  reference: string | null;
  prediction_id: string | null;
  refusal: string | null;
  /** Repeats it with the same key; null when another take has been deleted since. */
  repeat(): Promise<string | null>;
};

/** A credit of a user as the server that adds it knows it. */
export type Credit = {
  key: string;
  kind: "purchase" | "refund";
  micros: number;
  owner_id: string;
  is_answered: boolean;
  /** Adds it, or repeats that. */
  send(): Promise<void>;
};

/** The users' requests and answers. Each list becomes a table of schema chaos at the end (invariants/ledger-tables.ts). */
export type Ledger = {
  starts: Start[];
  /** Each answer to a POST that creates something. */
  answers: { key: string; what: string; id: string; owner_id: string }[];
  /** Projects and takes whose deletion was requested, whatever the answer. */
  deletions: { id: string }[];
  /** Hooks of endpoints whose event types were changed. */
  resubscribed: { hook: string }[];
  /** 5xx answers to users. */
  refusals: { status: number; retry_after: boolean }[];
  /** The statuses that users got, in order of time. */
  statuses: { n: number; reader: string; prediction_id: string; status: string }[];
  credits: Credit[];
};

export const SIMULATOR = { startDelayMs: 50, runDelayMs: 300 };

/** So many times the shipped rate limits are never reached. */
export const RATE_LIMITS_TIMES = 100;

export const multiplyRateLimits = (sql: postgres.Sql, by: number): Promise<unknown> =>
  sql`update keyframe_private.rate_limits set capacity = capacity * ${by}::float8, per_second = per_second * ${by}::float8`;

type OpenedWorld = { world: World; close(): Promise<void> };

/** Starts a throw-away stack with receivers, and rate limits that are never reached. `start`: of another version. */
export async function openWorld(
  options: Pick<StackOptions, "dataDir" | "databaseUrl" | "signal" | "workers">,
  start = startStack,
): Promise<OpenedWorld> {
  const { dataDir, databaseUrl } = options;
  const storageFaultFile = join(dataDir, "storage-fault.json");
  const stack = await start({ ...options, simulator: SIMULATOR, port: 0, durable: false, storageFaultFile });
  // The queries of postgres.js on a new connection reject outside of any call, so fetch_types is off.
  const sql = postgres(stack.databaseUrl, {
    max: 12,
    fetch_types: false,
    backoff: () => 0.2,
    onnotice: () => undefined,
  });
  await multiplyRateLimits(sql, RATE_LIMITS_TIMES);
  const receivers = new Receivers();
  await receivers.open();
  const ledger = { starts: [], answers: [], deletions: [], resubscribed: [], refusals: [], statuses: [], credits: [] };
  return {
    world: { stack, dataDir, isGiven: databaseUrl !== undefined, storageFaultFile, sql, receivers, users: [], ledger },
    close: async () => {
      await sql.end({ timeout: 1 });
      await stack.stop();
      await receivers.close();
    },
  };
}

/** The problems that health reports; no answer is a problem too. */
export async function readProblems({ stack }: World): Promise<string[]> {
  const headers = { apikey: stack.keys.secretKey };
  const response = await fetch(`${stack.url}/functions/v1/api/health?deep=1`, { headers });
  const { data } = (await response.json()) as { data?: { problems?: string[]; notices?: string[] } | null };
  if (!data?.problems) return [`health answers ${response.status}`];
  return data.problems.concat(data.notices ?? []);
}

const PAUSE_MS = 200;
const TRY_MS = 30_000;

/** Rejects after so long; the work itself goes on. */
export const withTimeout = <T>(work: Promise<T>, ms: number): Promise<T> =>
  within(work, ms, () => {
    throw new Error(`Not done within ${ms} ms.`);
  });

/**
 * Repeats the work until it succeeds, because Postgres may be down. Throws the last error after so many seconds. Each
 * try has a limit: postgres.js never settles some queries of a broken connection.
 */
export function retryUntilDone<T>(work: () => Promise<T>, seconds = 60): Promise<T> {
  const end = performance.now() + seconds * 1000;
  return retry(() => withTimeout(work(), TRY_MS), {
    isRetriable: () => performance.now() <= end,
    minDelayMs: PAUSE_MS,
    maxDelayMs: PAUSE_MS,
  });
}

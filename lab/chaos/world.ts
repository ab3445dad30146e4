import type postgres from "postgres";
import type { KeyframeClient } from "../../client/index.ts";
import { within } from "../../local/within.ts";
import type { Stack } from "../../local/stack/start-stack.ts";
import type { Step } from "../../shared/contract/fields.ts";
import { pause } from "../../shared/platform/pause.ts";
import type { PredictionStatus } from "../../shared/contract/predictions.ts";
import type { Random } from "./random.ts";
import type { Receivers } from "./receivers.ts";
import type { SecondProcess } from "./start-process.ts";

/** The last answer about a prediction. */
type LastAnswer = { projectId: string; step: Step; status: PredictionStatus; tag: string | null };

export type UserFetch = (url: string, init: RequestInit) => Promise<Response>;

/** What a user knows of a project. */
export type OwnProject = { projectId: string; hasFirstFrame: boolean };

export type Frame = { projectId: string; predictionId: string; step: Step };

/** An endpoint of a user. A steady one is never changed, so it must get every event of its owner. */
export type Endpoint = { hook: string; webhookId: string; steady: boolean; enabled: boolean };

/** A signed-in user: a client, random numbers, and what they know. */
export type User = {
  userId: string;
  client: KeyframeClient;
  token: string;
  /** The client's own fetch. */
  fetch: UserFetch;
  random: Random;
  projects: OwnProject[];
  films: string[];
  /** Frames that have succeeded, as far as the user knows. */
  frames: Frame[];
  references: string[];
  endpoints: Endpoint[];
  /** Predictions that have not ended as far as the user knows. */
  open: Map<string, { projectId: string; step: Step }>;
  /** The last answer about each prediction, with its ETag where there was one. */
  lastAnswers: Map<string, LastAnswer>;
  /** The account is deleted or about to be: the user starts nothing new. */
  isDeleted: boolean;
  /** The current action. */
  busy: Promise<void>;
};

/** What load, faults and checks share. */
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
  /** The users' clients, by user id. */
  clients: Map<string, KeyframeClient>;
  users: User[];
  /** The second process of `api`, `http://host:port`: every second request of a user goes there. */
  secondApiOrigin: string | null;
  /** A process with a wrong clock replaces the stack's replicate-webhook. */
  hasWrongCallbackClock: boolean;
  /** Processes that replaced the stack's own. */
  replacements: SecondProcess[];
  ledger: Ledger;
};

/** The application_name of this run's own connections. */
export const RUNNER = "keyframe-chaos";

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
export async function retry<T>(work: () => Promise<T>, seconds = 60): Promise<T> {
  const end = performance.now() + seconds * 1000;
  for (;;) {
    try {
      return await withTimeout(work(), TRY_MS);
    } catch (error) {
      if (performance.now() > end) throw error;
      await pause(PAUSE_MS);
    }
  }
}

/**
 * A start as its user knows it. An unanswered one may have been accepted; repeating it with the same key shows that.
 */
export type Start = {
  key: string;
  ownerId: string;
  prompt: string;
  projectId: string;
  step: Step;
  /** The reference image, if any. */
  reference: string | null;
  /** Repeats it with the same key. */
  repeat(): Promise<{ predictionId: string }>;
  outcome: { accepted: string } | { refused: string } | "unanswered";
};

/** A health request: its time, status, and whether it had Retry-After. */
type Probe = { ms: number; status: number; retryAfter: boolean };

/** `status` is `another` when a 304 had another ETag than the request. */
type StatusAnswer = { reader: string; predictionId: string; status: PredictionStatus | "another"; code: number };

/** What users requested and got, to compare with the database at the end. */
export class Ledger {
  readonly starts: Start[] = [];
  /** Each answer to a POST that creates something. */
  readonly answers: { key: string; what: string; id: string }[] = [];
  /** Projects whose deletion was requested, whatever the answer. */
  readonly deletedProjects = new Set<string>();
  /** Takes whose deletion was requested, whatever the answer. */
  readonly deletedTakes = new Set<string>();
  /** Running predictions whose frame was gone, sampled during the load. */
  readonly lostSources = new Set<string>();
  /** Images of deleted accounts. */
  readonly leftUploads: string[] = [];
  /** Hooks of endpoints whose event types were changed. */
  readonly resubscribed = new Set<string>();
  /** Predictions whose cancellation was requested. */
  readonly canceled = new Set<string>();
  /** Expiry of signed URLs of outputs: as the API stated it, and as their tokens say (ISO 8601). */
  readonly addresses: { stated: string; ends: string }[] = [];
  readonly probes: Probe[] = [];
  /** 5xx answers to users. */
  readonly refusals: Omit<Probe, "ms">[] = [];
  /** The statuses that users got, in order of time for each reader; `code` 304: unchanged. */
  readonly statusAnswers: StatusAnswer[] = [];
  /** The most slots that one owner used, sampled during the load. */
  readonly slotCounts: number[] = [];
  /** Faults that were done, and those that could not be. */
  readonly applied = new Map<string, number>();
  readonly notApplied = new Map<string, number>();
  /** Calls by outcome: `ok` or the error's code. */
  readonly calls = new Map<string, number>();

  count(map: Map<string, number>, name: string): void {
    map.set(name, (map.get(name) ?? 0) + 1);
  }
}

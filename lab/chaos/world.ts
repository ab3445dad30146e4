import type postgres from "postgres";
import type { KeyframeClient } from "../../client/index.ts";
import type { Stack } from "../../local/stack/start-stack.ts";
import type { Ledger } from "./ledger.ts";
import type { Receivers } from "./receivers.ts";
import type { SecondProcess } from "./start-second-process.ts";
import type { User } from "./user.ts";

/** What load, faults and checks of a run have in common. */
export type World = {
  stack: Stack;
  dataDir: string;
  /** The Postgres is that of KEYFRAME_DATABASE_URL: its processes are not the run's to kill. */
  isGiven: boolean;
  /** See local/platform/storage-faults.ts. */
  storageFaultFile: string;
  /** A superuser's connections. Whoever uses them must be ready for Postgres to be killed meanwhile. */
  sql: postgres.Sql;
  receivers: Receivers;
  /** The clients of the users, by their identifiers. */
  clients: Map<string, KeyframeClient>;
  users: User[];
  /** Where every second request of a user goes while another process of `api` runs: `http://host:port`, instead of the gateway. */
  apiDetour: string | null;
  /** A process of replicate-webhook with a wrong clock stands where the stack's own did. */
  callbacksGoAstray: boolean;
  /** Processes that took the place of the stack's own. */
  standIns: SecondProcess[];
  ledger: Ledger;
};

const PAUSE_MS = 200;
const TRY_MS = 30_000;

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Rejects when the work has not ended in time; the work itself goes on. */
export async function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Nothing came of it within ${ms} ms.`)), ms);
  });
  return await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/**
 * Does something again until it works, for Postgres may be away. Throws the last error after so many seconds. A try that
 * has no end is given up: of a connection that breaks at the wrong moment the driver never says what came of a query.
 */
export async function insist<T>(work: () => Promise<T>, seconds = 60): Promise<T> {
  const end = performance.now() + seconds * 1000;
  for (;;) {
    try {
      return await inTime(work(), TRY_MS);
    } catch (error) {
      if (performance.now() > end) throw error;
      await pause(PAUSE_MS);
    }
  }
}

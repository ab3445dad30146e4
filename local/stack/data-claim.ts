import { join } from "node:path";
import { z } from "zod";

const FILE = "stack.lock";
const recordSchema = z.object({ pid: z.number(), url: z.string(), ready: z.boolean(), simulated: z.boolean() });

/** What a running stack says of itself to others. */
export type RunningStack = z.infer<typeof recordSchema>;

/** The right to use a data folder. The system gives it back when the process ends, however it ends. */
export type DataClaim = {
  /** Tells others where this stack is. */
  announce(stack: Omit<RunningStack, "pid">): void;
  /** May be called twice. */
  release(): void;
};

/** Makes the data folder, when it is missing, and claims it for one stack. Throws one line when that cannot be. */
export function claimData(dataDir: string): DataClaim {
  const file = open(dataDir);
  if (!file.tryLockSync(true)) {
    file.close();
    const other = readRecord(dataDir);
    const who = other ? `the stack at ${other.url} (process ${other.pid})` : "another stack";
    throw new Error(`The data in ${dataDir} are in use by ${who}: stop it first, or choose other data with --data.`);
  }
  file.truncateSync(0);
  let held = true;
  return {
    announce: (stack) => {
      const record: RunningStack = { pid: Deno.pid, ...stack };
      file.truncateSync(0);
      file.seekSync(0, Deno.SeekMode.Start);
      file.writeSync(new TextEncoder().encode(JSON.stringify(record)));
    },
    release: () => {
      if (!held) return;
      held = false;
      // The file stays: with it gone, two others could hold locks on two files of that name.
      file.truncateSync(0);
      file.close();
    },
  };
}

/** The stack that uses this data folder now, ready or not; null when there is none. */
export function findRunningStack(dataDir: string): RunningStack | null {
  let file: Deno.FsFile;
  try {
    file = Deno.openSync(join(dataDir, FILE), { read: true });
  } catch {
    return null;
  }
  try {
    return file.tryLockSync(false) ? null : readRecord(dataDir);
  } finally {
    file.close();
  }
}

function readRecord(dataDir: string): RunningStack | null {
  try {
    return recordSchema.parse(JSON.parse(Deno.readTextFileSync(join(dataDir, FILE))));
  } catch {
    return null;
  }
}

function open(dataDir: string): Deno.FsFile {
  try {
    Deno.mkdirSync(join(dataDir, "logs"), { recursive: true });
    return Deno.openSync(join(dataDir, FILE), { create: true, read: true, write: true });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`The data folder ${dataDir} cannot be used (${why}): choose another one with --data.`);
  }
}

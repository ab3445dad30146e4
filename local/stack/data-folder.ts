import { join } from "node:path";
import { z } from "zod";
import { jsonText } from "../../shared/platform/json-text.ts";
import { removePostgresData } from "../postgres/server-user.ts";

const FILE = "stack.lock";
const recordSchema = z.object({
  pid: z.number(),
  url: z.string(),
  /** Host, port and database, once it runs. */
  database: z.string().optional(),
  ready: z.boolean(),
  simulated: z.boolean(),
});

/** The content of the lock file. */
type RunningStack = z.infer<typeof recordSchema>;

/** The exclusive use of a data folder. The system releases it when the process ends in any way. */
export type DataClaim = ReturnType<typeof claimData>;

/** Creates the data folder when it is missing and claims it for one stack. Throws a one-line error when it cannot. */
export function claimData(dataDir: string) {
  const file = open(dataDir);
  if (!file.tryLockSync(true)) {
    file.close();
    const other = readRecord(dataDir);
    const who = other ? `the stack at ${other.url} (process ${other.pid})` : "another stack";
    throw new Error(`The data in ${dataDir} is in use by ${who}: stop it first, or choose another folder with --data.`);
  }
  file.truncateSync(0);
  return {
    /** Records where this stack listens. */
    announce: (stack: Omit<RunningStack, "pid">) => {
      const record: RunningStack = { pid: Deno.pid, ...stack };
      file.truncateSync(0);
      file.seekSync(0, Deno.SeekMode.Start);
      file.writeSync(new TextEncoder().encode(JSON.stringify(record)));
    },
    release: () => {
      // The file stays: if it were removed, two stacks could lock two different files of the same name.
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
  return jsonText.pipe(recordSchema).safeParse(Deno.readTextFileSync(join(dataDir, FILE))).data ?? null;
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

/** Removes the data folder of a temporary stack, and the database's data where they are kept elsewhere. */
export async function removeData(dataDir: string): Promise<void> {
  await removePostgresData(join(dataDir, "postgres"));
  await Deno.remove(dataDir, { recursive: true });
}

const OURS = ["postgres", "storage", "cli-home", "logs", "keys.json", "demo.mp4"];

/** Deletes a stack's data and nothing else in the folder. The caller holds the claim. */
export async function resetData(dataDir: string): Promise<void> {
  await removePostgresData(join(dataDir, "postgres"));
  for (const name of OURS) await Deno.remove(join(dataDir, name), { recursive: true }).catch(ignoreMissing);
  await Deno.mkdir(join(dataDir, "logs"));
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}

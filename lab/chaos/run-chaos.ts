import { join } from "node:path";
import postgres from "postgres";
import { startStack } from "../../local/stack/start-stack.ts";
import { endFaults } from "./apply-fault.ts";
import { checkPromises, type Verdict } from "./check-promises.ts";
import { RUNNER } from "./connections-left.ts";
import { describe, drain } from "./drain.ts";
import { farewell } from "./farewell.ts";
import { countAll } from "./figures.ts";
import { Ledger } from "./ledger.ts";
import { loadAndHarm } from "./load-and-harm.ts";
import { lastLooks } from "./last-looks.ts";
import { usableConnections } from "./gateway-pool.ts";
import { describeGiven, requireEmpty } from "./given-database.ts";
import { inviteUsers, prepare } from "./prepare.ts";
import { Receivers } from "./receivers.ts";
import { settleStarts } from "./settle-starts.ts";
import type { World } from "./world.ts";

/** A run shorter than this one ends what is kept for reuse, and does not wait for it to lapse. */
const BRIEF_MS = 60_000;

export type ChaosOptions = {
  seed: number;
  /** How long load and faults last; the way to the end comes on top. */
  durationMs: number;
  users: number;
  /** A folder of this run's own. */
  dataDir: string;
  /** KEYFRAME_DATABASE_URL: an empty database for the run to use. */
  databaseUrl?: string | undefined;
  drainSeconds: number;
  say(line: string): void;
  /** Ends load and faults early; what was promised is checked all the same. */
  signal?: AbortSignal | undefined;
};

export type ChaosResult = {
  verdicts: Verdict[];
  /** What was done, by name. */
  applied: ReadonlyMap<string, number>;
  notApplied: ReadonlyMap<string, number>;
  calls: ReadonlyMap<string, number>;
  figures: Record<string, number>;
  /** What was done in another way than its name says. */
  remarks: string[];
};

/** Starts a throw-away stack, uses it and does it harm, lets it come to rest, and looks at what was promised. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { dataDir, databaseUrl, say } = options;
  if (databaseUrl !== undefined) await requireEmpty(databaseUrl);
  const storageFaultFile = join(dataDir, "storage-fault.json");
  const simulator = { startDelayMs: 50, runDelayMs: 300 };
  const stack = await startStack({
    dataDir,
    port: 0,
    databaseUrl,
    durable: false,
    simulator,
    storageFaultFile,
    signal: options.signal,
  });
  // What postgres.js asks of a new connection by itself fails outside of any promise; so it may ask nothing.
  const sql = postgres(stack.databaseUrl, {
    max: 6,
    fetch_types: false,
    backoff: () => 0.2,
    connection: { application_name: RUNNER },
    onnotice: () => undefined,
  });
  const receivers = new Receivers();
  await receivers.open();
  const nobody = { clients: new Map(), users: [], apiDetour: null, callbacksGoAstray: false, standIns: [] };
  const isGiven = databaseUrl !== undefined;
  const world: World = { stack, dataDir, isGiven, storageFaultFile, sql, receivers, ledger: new Ledger(), ...nobody };
  const remarks = isGiven ? [...stack.extensions.notes, ...describeGiven(stack)] : [];
  for (const remark of remarks) say(remark);
  try {
    await prepare(world);
    const atStart = { usableConnections: await usableConnections(world) };
    const users = await inviteUsers(world, options.seed, options.users);
    await loadAndHarm(world, users, options);
    say("load and faults have ended");
    await endFaults(world);
    say(`${await settleStarts(world.ledger)} starts without an answer were asked for again`);
    await drain(world, options.drainSeconds, say);
    say(`${await lastLooks(world)} predictions were looked at once more`);
    say(`${await farewell(world)} projects with outputs were deleted`);
    const left = await drain(world, options.drainSeconds, say);
    if (describe(left) !== "") say(`never ended: ${describe(left)}`);
    const verdicts = await checkPromises(world, atStart, options.durationMs < BRIEF_MS);
    const { applied, notApplied, calls } = world.ledger;
    return { verdicts, applied, notApplied, calls, figures: await countAll(world), remarks };
  } finally {
    await sql.end({ timeout: 1 });
    await stack.stop();
    for (const other of world.standIns) await other.stop();
    await receivers.close();
  }
}

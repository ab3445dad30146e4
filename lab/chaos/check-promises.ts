import { join } from "node:path";
import type postgres from "postgres";
import { learnSecrets } from "./act-endpoints.ts";
import { checkConstraints } from "./check-constraints.ts";
import { connectionsLeft, MARGIN_MS } from "./connections-left.ts";
import { hangUp } from "./hang-up.ts";
import { PROMISES } from "./promises.ts";
import { strayCallbacks } from "./stand-in.ts";
import { insist, pause, type World } from "./world.ts";
import { filesInStorage, ledgerRows, runsAtProvider, writeLedger } from "./write-ledger.ts";

const LASTING_MS = 2_000;

/** A promise and what breaks it: nothing, when it was kept. */
export type Verdict = { name: string; sentence: string; broken: string[] };

/** What was found when the stack had just started. */
export type AtStart = { usableConnections: number };

/**
 * Writes down what everybody knows and looks at every promise. To be called when nothing is left to do. A run that is `brief` does
 * not wait for connections to lapse that are kept for reuse: it ends them.
 */
export async function checkPromises(world: World, atStart: AtStart, brief: boolean): Promise<Verdict[]> {
  const { sql, stack, ledger, receivers, dataDir } = world;
  for (const slot of new Set(receivers.unverified.map((arrival) => arrival.slot))) await learnSecrets(world, slot);
  const runs = await runsAtProvider(stack.simulator?.url ?? "");
  const files = await filesInStorage(join(dataDir, "storage"));
  const stray_callbacks = await strayCallbacks(dataDir);
  const pool = atStart.usableConnections;
  const inPostgres = brief ? await connectionsLeft(world, pool, MARGIN_MS, "in Postgres") : [];
  if (brief) await hangUp(world);
  const connections = [...inPostgres, ...(await connectionsLeft(world, pool))];
  const known = { ...ledgerRows(ledger, receivers), runs, files, stray_callbacks, connections };
  await insist(() => writeLedger(sql, known), 5);
  return await judge(sql);
}

/** Looks at every promise, with the ledger written. */
export async function judge(sql: postgres.Sql | postgres.TransactionSql): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const [name, { sentence, broken, lasting }] of Object.entries(PROMISES)) {
    const look = async () => (await sql.unsafe<{ broken: string }[]>(broken)).map((row) => row.broken);
    let found = await look();
    if (lasting && found.length > 0) {
      await pause(LASTING_MS);
      const again = new Set(await look());
      found = found.filter((row) => again.has(row));
    }
    verdicts.push({ name, sentence, broken: found });
  }
  const sentence = "every row keeps every check and foreign key";
  verdicts.push({ name: "constraints_hold", sentence, broken: await checkConstraints(sql) });
  return verdicts;
}

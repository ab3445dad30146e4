import { join } from "node:path";
import type postgres from "postgres";
import { learnSecrets } from "./act-endpoints.ts";
import { checkConstraints } from "./check-constraints.ts";
import { PROMISES } from "./promises.ts";
import { insist, type World } from "./world.ts";
import { filesInStorage, ledgerRows, runsAtProvider, writeLedger } from "./write-ledger.ts";

/** A promise and what breaks it: nothing, when it was kept. */
export type Verdict = { name: string; sentence: string; broken: string[] };

/** Writes down what everybody knows and looks at every promise. To be called when nothing is left to do. */
export async function checkPromises(world: World): Promise<Verdict[]> {
  const { sql, stack, ledger, receivers, dataDir } = world;
  for (const slot of new Set(receivers.unverified.map((arrival) => arrival.slot))) await learnSecrets(world, slot);
  const runs = await runsAtProvider(stack.simulator?.url ?? "", stack.keys.replicateToken);
  const files = await filesInStorage(join(dataDir, "storage"));
  await insist(() => writeLedger(sql, { ...ledgerRows(ledger, receivers), runs, files }), 5);
  return await judge(sql);
}

/** Looks at every promise, with the ledger written. */
export async function judge(sql: postgres.Sql | postgres.TransactionSql): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const [name, { sentence, broken }] of Object.entries(PROMISES)) {
    const rows = await sql.unsafe<{ broken: string }[]>(broken);
    verdicts.push({ name, sentence, broken: rows.map((row) => row.broken) });
  }
  const sentence = "every row keeps every check and foreign key";
  verdicts.push({ name: "constraints_hold", sentence, broken: await checkConstraints(sql) });
  return verdicts;
}

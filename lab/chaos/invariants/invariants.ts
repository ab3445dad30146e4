import type postgres from "postgres";
import { pause } from "../../../shared/platform/retry.ts";
import { learnSecrets } from "../endpoint-actions.ts";
import { retryUntilDone, type World } from "../world.ts";
import { costInvariants } from "./costs.ts";
import { deliveryInvariants } from "./deliveries.ts";
import { type Invariant, writeLedger } from "./ledger-tables.ts";
import { leftoverInvariants, storageInvariants, workInvariants } from "./leftovers.ts";
import { predictionInvariants } from "./predictions.ts";

export const INVARIANTS: Readonly<Record<string, Invariant>> = {
  ...workInvariants,
  ...predictionInvariants,
  ...costInvariants,
  ...deliveryInvariants,
  ...storageInvariants,
  ...leftoverInvariants,
};

/** Longer than a sweep and a run of a function that has little to do. */
const LASTING_MS = 10_000;

/** An invariant and the rows that break it. */
export type Verdict = { name: string; sentence: string; broken: string[] };

/** Writes the ledger and checks every invariant. Call it when no work is left. */
export async function checkInvariants(world: World): Promise<Verdict[]> {
  const { sql, receivers } = world;
  for (const hook of new Set(receivers.unverified.map((arrival) => arrival.hook))) await learnSecrets(world, hook);
  await writeLedger(world);
  const verdicts: Verdict[] = [];
  for (const [name, { sentence, broken, lasting }] of Object.entries(INVARIANTS)) {
    let found = await violations(sql, broken);
    if (lasting && found.length > 0) {
      await pause(LASTING_MS);
      const again = new Set(await violations(sql, broken));
      found = found.filter((row) => again.has(row));
    }
    verdicts.push({ name, sentence, broken: found });
  }
  return verdicts;
}

const violations = async (sql: postgres.Sql, query: string): Promise<string[]> =>
  (await sql.unsafe<{ broken: string }[]>(query)).map(({ broken }) => broken);

/** Which of these invariants are broken, and how often; "" when all work is done. */
export async function describeWork({ sql }: World): Promise<string> {
  const left: string[] = [];
  for (const [name, { broken }] of Object.entries(workInvariants)) {
    const { length } = await retryUntilDone(() => violations(sql, broken));
    if (length > 0) left.push(`${name} (not ${length})`);
  }
  return left.join(", ");
}

import { join } from "node:path";
import type postgres from "postgres";
import { learnSecrets } from "../endpoint-actions.ts";
import { pause } from "../../../shared/platform/pause.ts";
import { retry, type World } from "../world.ts";
import { costInvariants } from "./costs.ts";
import { deliveryInvariants } from "./deliveries.ts";
import { filesInStorage, ledgerRows, type Invariant, runsAtProvider, writeLedger } from "./ledger-tables.ts";
import { leftoverInvariants, storageInvariants } from "./leftovers.ts";
import { filmInvariants, statusInvariants, predictionInvariants } from "./predictions.ts";

export const INVARIANTS: Readonly<Record<string, Invariant>> = {
  ...predictionInvariants,
  ...statusInvariants,
  ...filmInvariants,
  ...costInvariants,
  ...deliveryInvariants,
  ...storageInvariants,
  ...leftoverInvariants,
};

const LASTING_MS = 2_000;

/** An invariant and the rows that break it. */
export type Verdict = { name: string; sentence: string; broken: string[] };

/** Writes the ledger and checks every invariant. Call it when no work is left. */
export async function checkInvariants(world: World): Promise<Verdict[]> {
  const { sql, stack, ledger, receivers, dataDir } = world;
  for (const hook of new Set(receivers.unverified.map((arrival) => arrival.hook))) await learnSecrets(world, hook);
  const runs = await runsAtProvider(stack.simulator?.url ?? "");
  const files = await filesInStorage(join(dataDir, "storage"));
  const known = { ...ledgerRows(ledger, receivers), runs, files };
  await retry(() => writeLedger(sql, known), 5);
  const verdicts: Verdict[] = [];
  for (const [name, { sentence, broken, lasting }] of Object.entries(INVARIANTS)) {
    const find = async () => (await sql.unsafe<{ broken: string }[]>(broken)).map((row) => row.broken);
    let found = await find();
    if (lasting && found.length > 0) {
      await pause(LASTING_MS);
      const again = new Set(await find());
      found = found.filter((row) => again.has(row));
    }
    verdicts.push({ name, sentence, broken: found });
  }
  const sentence = "every row keeps every check and foreign key";
  verdicts.push({ name: "constraints_hold", sentence, broken: await checkConstraints(sql) });
  return verdicts;
}

/**
 * Checks every row against every check and foreign key again: neither a crash nor a disabled trigger may leave an
 * impossible row.
 */
async function checkConstraints(sql: postgres.Sql): Promise<string[]> {
  const constraints = await sql<{ name: string; table: string; query: string }[]>`
    select c.conname as name, c.conrelid::regclass::text as table,
      case c.contype
        when 'c' then format('select count(*)::int as rows from only %s where not (%s)', c.conrelid::regclass,
          pg_get_expr(c.conbin, c.conrelid))
        else format('select count(*)::int as rows from only %s x where not (%s) and not exists (select from %s y where %s)',
          c.conrelid::regclass,
          (select string_agg(format('x.%I is null', a.attname), ' or ') from pg_attribute a
            where a.attrelid = c.conrelid and a.attnum = any (c.conkey)),
          c.confrelid::regclass,
          (select string_agg(format('x.%I = y.%I', a.attname, b.attname), ' and ')
            from unnest(c.conkey, c.confkey) as k (mine, theirs)
            join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.mine
            join pg_attribute b on b.attrelid = c.confrelid and b.attnum = k.theirs))
      end as query
    from pg_constraint c join pg_namespace n on n.oid = c.connamespace
    where n.nspname in ('keyframe', 'keyframe_worker', 'keyframe_private') and c.contype in ('c', 'f') and c.conrelid <> 0`;
  const broken: string[] = [];
  for (const { name, table, query } of constraints) {
    const [found] = await sql.unsafe<{ rows: number }[]>(query);
    if (found && found.rows > 0) broken.push(`${found.rows} rows of ${table} break ${name}`);
  }
  return broken;
}

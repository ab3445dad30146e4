import type postgres from "postgres";
import type { Aim, Table } from "../benchmark.ts";
import { spreadOf } from "../measure.ts";

const GROUPS = ["day", "model", "step", "project"] as const;
/** Read from the ledger instead of the sums by day. */
const FROM_LEDGER = "project";
const LONGEST_MS = 5;

/** How long `read_usage` of a month takes in Postgres, for the owner of a tenth of all predictions. */
export async function measureUsage(sql: postgres.Sql, rounds: number): Promise<{ aim: Aim; table: Table }> {
  const [owner] = await sql<{ id: string; predictions: number }[]>`
    select owner_id as id, count(*)::int as predictions from keyframe.predictions where owner_id = md5('owner 1')::uuid group by 1`;
  if (!owner) throw new Error("The fill has left nothing.");
  const ms = Object.fromEntries(GROUPS.map((group) => [group, [] as number[]]));
  await sql.begin(async (session) => {
    await session`select set_config('request.jwt.claims', ${JSON.stringify({ sub: owner.id, role: "authenticated" })}, true)`;
    for (let round = 0; round < rounds + 2; round++) {
      for (const group of GROUPS) {
        const [plan] = await session.unsafe<{ "QUERY PLAN": { "Execution Time": number }[] }[]>(
          `explain (analyze, format json) select keyframe.read_usage(current_date - 30, current_date, '${group}')`,
        );
        // The first two make the plans and fill the caches.
        if (round >= 2) ms[group]?.push(plan?.["QUERY PLAN"][0]?.["Execution Time"] ?? Number.NaN);
      }
    }
  });
  const rows = GROUPS.map((group) => ({ name: `by ${group}`, value: spreadOf(ms[group] ?? []) }));
  const summed = rows.filter(({ name }) => name !== `by ${FROM_LEDGER}`);
  const [slowest] = summed.toSorted((a, b) => b.value.median - a.value.median);
  const name = `a month's usage of an owner with ${owner.predictions.toLocaleString("en-US")} predictions, ms in Postgres`;
  return {
    aim: { name: `${name} (${slowest?.name})`, value: slowest?.value ?? spreadOf([Number.NaN]), atMost: LONGEST_MS },
    table: { caption: name, columns: ["ms"], rows: rows.map(({ name, value }) => ({ name, cells: [value] })) },
  };
}

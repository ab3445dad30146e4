import type postgres from "postgres";

class TakenBack extends Error {}

/** Runs something in a transaction and takes everything back, so that many cases can share one database. */
export async function rolledBack(
  sql: postgres.Sql,
  work: (transaction: postgres.TransactionSql) => Promise<void>,
): Promise<void> {
  const outcome = sql.begin(async (transaction) => {
    await work(transaction);
    throw new TakenBack();
  });
  await outcome.catch((error: unknown) => {
    if (!(error instanceof TakenBack)) throw error;
  });
}

import type postgres from "postgres";
import type { BenchProcess } from "../processes.ts";
import { wallClock } from "./receiver.ts";
import { ENDPOINTS, type Scene } from "./scene.ts";

/** A way of delivering events: from rows committed in a transaction to recorded outcomes. */
export type Way = {
  name: string;
  /** The worker of a compared queue, beside the stack. */
  peer?: BenchProcess;
  /** Commits events in one transaction, spread over all endpoints. Returns when COMMIT was sent, in ms since 1970. */
  commit(events: number): Promise<number>;
  /** Whether an outcome is still unrecorded. */
  isOpen(): Promise<boolean>;
  /** The table with a row for each attempt; null for a way that records none. */
  attempts: string | null;
};

/** Runs a transaction. Returns when its COMMIT was sent. */
export async function commit(
  sql: postgres.Sql,
  work: (sql: postgres.TransactionSql) => Promise<unknown>,
): Promise<number> {
  let sent = 0;
  await sql.begin(async (transaction) => {
    await work(transaction);
    sent = wallClock();
  });
  return sent;
}

/** Inserts projects, whose trigger writes event and delivery in the same transaction; the stack's own deliver sends. */
export const keyframeWay = ({ sql }: Scene): Way => ({
  name: "Keyframe",
  commit: (events) =>
    commit(
      sql,
      (sql) => sql`
        insert into keyframe.projects (owner_id, title, text_prompt)
        select e.owner_id, 'Event ' || n, repeat('A harbour at dawn. ', 36)
        from generate_series(1, ${events}::int) n join bench.endpoints e on e.number = n % ${ENDPOINTS}::int`,
    ),
  // Uses the index of due deliveries for each endpoint, so that polling costs the database little.
  isOpen: async () => {
    const found = await sql`
      select from bench.endpoints e
      where exists (select from keyframe.webhook_deliveries d where d.status = 'pending' and d.endpoint_id = e.id) limit 1`;
    return found.length > 0;
  },
  attempts: "keyframe.webhook_attempts",
});

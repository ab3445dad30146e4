import type { Sql } from "postgres";
import { DatabaseUnavailable } from "./platform-connection.ts";
import type { Unsafe } from "./send-ahead.ts";

/**
 * Keeps lite off connections that are gone. postgres.js knows that a reserved connection has closed, but still takes
 * statements for it (the ROLLBACK after an error, say): they never end, or throw outside of any promise, which would end
 * the process. And giving such a connection back makes it the next caller's.
 *
 * @param lost aborted as soon as any connection of the pool closes; from then on the whole pool is given up
 * @param sendAhead how a connection's statements are sent, see send-ahead.ts
 */
export function guardReservations(sql: Sql, lost: AbortSignal, sendAhead: (unsafe: Unsafe) => Unsafe): void {
  const gone = () => new DatabaseUnavailable("the connection to Postgres is gone");
  const reserve = sql.reserve.bind(sql);
  const loss = new Promise<never>((_, reject) => {
    lost.addEventListener("abort", () => reject(gone()), { once: true });
  });
  // Nobody may be waiting at that moment.
  loss.catch(() => undefined);

  sql.reserve = async () => {
    if (lost.aborted) throw gone();
    const reserved = await Promise.race([reserve(), loss]);
    const unsafe = sendAhead(reserved.unsafe);
    const { release } = reserved;
    reserved.unsafe = (text, parameters, options) => {
      if (lost.aborted) throw gone();
      return unsafe(text, parameters, options);
    };
    reserved.release = () => {
      if (!lost.aborted) release();
    };
    return reserved;
  };
}

import { inTime, pause, type World } from "./world.ts";

const MORE_THAN_ANY_POOL = 100;
/** So long no request more has come as far as the lock. A pool that has been idle has to connect first. */
const STILL_MS = 2_000;
const LOOK_EVERY_MS = 50;
const PATIENCE_MS = 15_000;
/** The lock is never held longer, also when nobody comes to wait. */
const LOCKED_MS = 12_000;
/** Read through the Data API, and by nothing else when all is at rest. */
const TABLE = "models";

/**
 * How many connections the gateway can use at once. A table is locked for a moment and asked for by more requests than any pool
 * has connections: as many as come to wait in Postgres, so many are usable. One that was taken and never given back is not among
 * them, though for Postgres it looks like any other that is idle.
 */
export async function usableConnections({ stack, sql }: Pick<World, "stack" | "sql">): Promise<number> {
  const { secretKey } = stack.keys;
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 }); // what is asked here leaves no connection
  const ask = () => {
    const init: RequestInit & { client: Deno.HttpClient } = {
      headers: { apikey: secretKey, authorization: `Bearer ${secretKey}`, "accept-profile": "keyframe" },
      signal: AbortSignal.timeout(PATIENCE_MS),
      client,
    };
    return fetch(`${stack.url}/rest/v1/${TABLE}?select=step&limit=1`, init).then(
      (response) => response.body?.cancel(),
      () => undefined, // it may have got no connection in time
    );
  };
  await ask(); // the first one reads the schema, for which it would have to wait
  const asked: Promise<unknown>[] = [];
  const most = await inTime(
    sql.begin(async (mine) => {
      await mine`select set_config('lock_timeout', '3s', true)`;
      await mine`lock table ${mine(`keyframe.${TABLE}`)} in access exclusive mode`;
      asked.push(...Array.from({ length: MORE_THAN_ANY_POOL }, ask));
      let most = 0;
      const end = performance.now() + LOCKED_MS;
      let stillSince = performance.now();
      while (performance.now() < end && (most === 0 || performance.now() - stillSince < STILL_MS)) {
        const [row] = await mine<{ waiting: number }[]>`
          select count(distinct pid)::int as waiting from pg_locks
          where not granted and relation = ${`keyframe.${TABLE}`}::regclass`;
        if ((row?.waiting ?? 0) > most) {
          most = row?.waiting ?? 0;
          stillSince = performance.now();
        }
        await pause(LOOK_EVERY_MS);
      }
      return most;
    }),
    PATIENCE_MS,
  );
  await Promise.all(asked);
  return most;
}

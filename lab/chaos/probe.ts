import { inTime, pause, type World } from "./world.ts";

const EVERY_MS = 400;
const LONGEST_MS = 30_000;

/**
 * Asks for the API's health again and again until told to stop, and notes how long each answer took and what it said;
 * and who has how many places.
 */
export async function keepProbing({ stack, ledger, sql }: World, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    const began = performance.now();
    const response = await fetch(`${stack.url}/functions/v1/api/health`, {
      signal: AbortSignal.timeout(LONGEST_MS),
    }).catch(() => null);
    const ms = Math.round(performance.now() - began);
    // The gateway's own answers while it starts a function, and none while it is killed itself, are the platform's.
    const isOurs = response !== null && !response.headers.has("sb-error-code");
    if (isOurs) ledger.probes.push({ ms, status: response.status, retryAfter: response.headers.has("retry-after") });
    else if (ms >= LONGEST_MS) ledger.probes.push({ ms, status: 0, retryAfter: false });
    await response?.body?.cancel();
    ledger.places.push(...(await inTime(mostPlaces(sql), 5_000).catch(() => [])));
    await pause(EVERY_MS);
  }
}

async function mostPlaces(sql: World["sql"]): Promise<number[]> {
  const rows = await sql<{ places: number }[]>`
    select count(*)::int as places from keyframe.predictions
    where admitted_at is not null and is_active
    group by owner_id order by 1 desc limit 1`;
  return rows.map(({ places }) => places);
}

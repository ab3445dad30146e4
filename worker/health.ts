import type { WorkerName } from "./settings.ts";

/** Calls take milliseconds. After this long without an answer, the database is down, or the worker hangs. */
const SILENT_MS = 30_000;

type Answers = { name: WorkerName; answeredMsAgo(): number };

/** Answers every request: 200 while the database has answered each worker within SILENT_MS, otherwise 503. */
export function serveHealth(workers: Answers[], { hostname, port }: { hostname: string; port: number }) {
  const answer = () => {
    const silent = workers.map(({ name, answeredMsAgo }) => [name, answeredMsAgo()] as const);
    const isOk = silent.every(([, ms]) => ms < SILENT_MS);
    const seconds = silent.map(([name, ms]) => [name, Number.isFinite(ms) ? Math.round(ms) / 1000 : null]);
    const body = { status: isOk ? "ok" : "unavailable", databaseAnsweredSeconds: Object.fromEntries(seconds) };
    return Response.json(body, { status: isOk ? 200 : 503 });
  };
  try {
    return Deno.serve({ hostname, port, onListen: () => undefined }, answer);
  } catch (error) {
    throw new Error(`--listen ${hostname}:${port}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

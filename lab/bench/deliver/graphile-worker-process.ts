import { Logger, run } from "graphile-worker";
import postgres from "postgres";
import { Webhook } from "standardwebhooks";

// Graphile Worker with the settings of its documentation on performance: a local queue of 500 jobs, completions in
// batches, 24 jobs at once and one connection more. Its task signs an event and posts it.

/** In its favour: Keyframe waits for 15 s. */
const TIMEOUT_MS = 2_000;

const databaseUrl = Deno.env.get("DATABASE_URL") ?? "";
// Read once; a real sender would have to notice new secrets.
const sql = postgres(databaseUrl, { max: 1 });
const rows = await sql<{ url: string; secret: string }[]>`select url, secret from bench.endpoints order by number`;
await sql.end();
const endpoints = rows.map(({ url, secret }) => ({ url, webhook: new Webhook(secret) }));

type Happening = { id: string; endpoint: number; body: string };

async function send({ id, endpoint, body }: Happening): Promise<void> {
  const to = endpoints[endpoint];
  if (to === undefined) throw new Error(`There is no endpoint ${endpoint}.`);
  const at = new Date();
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": to.webhook.sign(id, at, body),
  };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(to.url, { method: "POST", headers, body, redirect: "manual", signal });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`The receiver answered ${response.status}.`);
}

const runner = await run({
  preset: {
    worker: {
      connectionString: databaseUrl,
      concurrentJobs: 24,
      maxPoolSize: 25,
      localQueue: { size: 500 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
      logger: new Logger(() => (level, message) => {
        if (level === "error") console.error(`graphile-worker: ${message}`);
      }),
    },
  },
  noHandleSignals: true,
  // The payload is the one that the way inserted.
  taskList: { send: (payload: unknown) => send(payload as Happening) },
});
await runner.promise;

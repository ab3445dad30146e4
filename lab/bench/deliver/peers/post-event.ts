import postgres from "postgres";
import { Webhook } from "standardwebhooks";

/** A peer's job: the body to send, without a secret. */
export type Job = { id: string; endpoint: number; body: string };

/** In the peers' favour: Keyframe waits for 15 s. */
export const TIMEOUT_MS = 2_000;

/**
 * Signs an event and posts it; throws unless the answer is 2xx. URLs and secrets are read once; a real sender would
 * have to notice rotations.
 */
export async function openPostEvent(databaseUrl: string): Promise<(job: Job) => Promise<void>> {
  const sql = postgres(databaseUrl, { max: 1 });
  const rows = await sql<{ url: string; secret: string }[]>`select url, secret from bench.endpoints order by number`;
  await sql.end();
  const endpoints = rows.map(({ url, secret }) => ({ url, webhook: new Webhook(secret) }));
  return async ({ id, endpoint, body }) => {
    const to = endpoints[endpoint];
    if (to === undefined) throw new Error(`There is no endpoint ${endpoint}.`);
    const at = new Date();
    const response = await fetch(to.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
        "webhook-signature": to.webhook.sign(id, at, body),
      },
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`The receiver answered ${response.status}.`);
  };
}

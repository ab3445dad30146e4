import postgres from "postgres";
import { Webhook } from "standardwebhooks";

/** What a job of a peer carries: no secret, and the body as it will be sent. */
export type Job = { id: string; endpoint: number; body: string };

/** In the peers' favour: Keyframe waits for 15 s, and so must who serves slow receivers. */
export const PATIENCE_MS = 2_000;

/**
 * Signs an event and posts it; throws unless the answer is 2xx. Addresses and secrets are read once, which a sender that
 * has to notice rotations could not do.
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
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`The receiver answered ${response.status}.`);
  };
}

import postgres from "postgres";
import { Webhook } from "standardwebhooks";

// Shared by the compared queues: signing and posting an event, and recording the attempt.

/** As Keyframe. */
const TIMEOUT_MS = 15_000;

export const databaseUrl = Deno.env.get("DATABASE_URL") ?? "";
const sql = postgres(databaseUrl, { max: 10 });
// Read once; a real sender would have to notice new secrets.
const rows = await sql<{ url: string; secret: string }[]>`select url, secret from bench.endpoints order by number`;
const endpoints = rows.map(({ url, secret }) => ({ url, webhook: new Webhook(secret) }));
export const ENDPOINTS = endpoints.length;

/** An event of bench.happenings, as the way inserted it. */
export type Happening = { id: string; endpoint: number; body: string };
type Attempt = { event_id: string; endpoint: number; status: number | null; error: string | null; took_ms: number };

export const isDelivered = ({ status }: Attempt): boolean => status !== null && status < 300;

/** One attempt. Never throws for what the receiver does. */
export async function post({ id, endpoint, body }: Happening): Promise<Attempt> {
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
  const outcome = await fetch(to.url, { method: "POST", headers, body, redirect: "manual", signal }).then(
    async (response) => {
      await response.body?.cancel();
      return { status: response.status, error: null };
    },
    (error: unknown) => ({ status: null, error: String(error) }),
  );
  return { event_id: id, endpoint, ...outcome, took_ms: Date.now() - at.getTime() };
}

/** A row for each. */
export const record = (attempts: Attempt[]) => sql`insert into bench.attempts ${sql(attempts)}`;

import { PATIENCE_MS } from "./peers/post-event.ts";
import type { Scene } from "./scene.ts";
import { type Way, wallClock } from "./way.ts";

/** pg_net as carrier, signed in SQL: net.http_post for each event, in the transaction. The outcome is its response row. */
export async function pgNetWay({ sql }: Pick<Scene, "sql">): Promise<Way> {
  await sql.unsafe(`
    create function bench.post(happening uuid, endpoint integer, body text) returns bigint language sql volatile as $$
      select net.http_post(e.url, body::jsonb, timeout_milliseconds => ${PATIENCE_MS}, headers => jsonb_build_object(
        'Content-Type', 'application/json', 'webhook-id', happening, 'webhook-timestamp', t.at,
        'webhook-signature', 'v1,' || encode(extensions.hmac(
          convert_to(happening || '.' || t.at || '.' || (body::jsonb)::text, 'UTF8'),
          decode(substr(e.secret, length('whsec_') + 1), 'base64'), 'sha256'), 'base64')))
      from bench.endpoints e, (select floor(extract(epoch from clock_timestamp()))::bigint::text as at) t
      where e.number = endpoint
    $$`);
  return {
    name: "pg_net",
    commit: async (events, endpoints) => {
      let sent = 0;
      await sql.begin(async (sql) => {
        await sql`
          with happenings as (
            insert into bench.happenings (id, endpoint, body)
            select gen_random_uuid(), (${endpoints}::int[])[1 + n % cardinality(${endpoints}::int[])], bench.body(n)
            from generate_series(1, ${events}::int) n
            returning id, endpoint, body
          )
          select count(bench.post(h.id, h.endpoint, h.body)) from happenings h`;
        sent = wallClock();
      });
      return sent;
    },
    // Requests leave the queue, and responses come, when their batch ends.
    isOpen: async () => (await sql`select from net.http_request_queue limit 1`).length > 0,
    close: async () => undefined,
  };
}

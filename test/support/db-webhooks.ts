import type postgres from "postgres";
import type { ClonedDatabase } from "./clone-database.ts";
import type { Row } from "./db-predictions.ts";

type AnySql = postgres.Sql | postgres.TransactionSql;

/** One delivery that exchange_deliveries hands out. */
export type Leased = {
  id: string;
  lease_token: string;
  attempt: number;
  endpoint_id: string;
  event_id: string;
  body: string;
};

export type Exchanged = {
  recorded: number;
  deliveries: Leased[];
  endpoints: Record<string, { url: string; secrets: string[] }>;
};

/** What came of a request, but for the delivery's identifier and lease. */
export type Outcome = {
  started_at?: string;
  duration_ms?: number;
  status_code?: number | null;
  error?: string | null;
  response_excerpt?: string | null;
  retry_after_seconds?: number | null;
};

/** An endpoint as somebody adds it by hand in Studio; owner null makes it service-wide. Returns its id. */
export async function addEndpoint(sql: AnySql, owner: string | null, columns: object = {}): Promise<string> {
  const row = { id: crypto.randomUUID(), owner_id: owner, url: "https://receiver.example/hook", ...columns };
  await sql`insert into keyframe.webhook_endpoints ${sql(row)}`;
  return row.id;
}

/**
 * Gives an endpoint so many deliveries, each of an event of its own, due a second ago unless `columns` say otherwise.
 * Returns their ids.
 */
export async function seedDeliveries(
  sql: AnySql,
  endpoint: string,
  count: number,
  columns: object = {},
): Promise<string[]> {
  const events = await sql<{ id: string; owner_id: string | null; created_at: Date }[]>`
    insert into keyframe.webhook_events (type, owner_id, project_id, payload)
    select 'project.created', e.owner_id, gen_random_uuid(), jsonb_build_object('type', 'project.created', 'data', jsonb_build_object('number', i))
    from keyframe.webhook_endpoints e, generate_series(1, ${count}::int) i where e.id = ${endpoint}
    returning id, owner_id, created_at`;
  const due = { next_attempt_at: new Date(Date.now() - 1_000) }; // due, also for a transaction that began before this row
  const rows = events.map((event) => ({
    event_id: event.id,
    endpoint_id: endpoint,
    owner_id: event.owner_id,
    event_type: "project.created",
    ...due,
    ...columns,
  }));
  return (await sql<{ id: string }[]>`insert into keyframe.webhook_deliveries ${sql(rows)} returning id`).map(
    ({ id }) => id,
  );
}

/** exchange_deliveries' answer. */
export async function exchange(
  sql: AnySql,
  {
    results = [],
    maxRows = 100,
    leaseSeconds = 60,
    heartbeatMs = 0,
    at,
    waitMs = 0,
  }: {
    results?: object[];
    maxRows?: number;
    leaseSeconds?: number;
    heartbeatMs?: number;
    at?: Date;
    waitMs?: number;
  } = {},
): Promise<Exchanged> {
  const [row] = await sql<{ answer: Exchanged }[]>`
    select keyframe_worker.exchange_deliveries(
      ${JSON.stringify(results)}::text::jsonb, ${maxRows}, ${leaseSeconds}, ${heartbeatMs}, coalesce(${at ?? null}, now()), ${waitMs}) as answer`;
  if (!row) throw new Error("exchange_deliveries gave no row.");
  return row.answer;
}

/** A result as deliver sends it: HTTP 500 after 12 ms unless the outcome says otherwise. */
export function resultOf({ id, lease_token }: Pick<Leased, "id" | "lease_token">, outcome: Outcome = {}): object {
  const failed = outcome.error ? {} : { status_code: 500 };
  return { id, lease_token, started_at: new Date().toISOString(), duration_ms: 12, ...failed, ...outcome };
}

/** Claims what is due and records the same outcome for all of it. Returns the ids of what was sent. */
export async function sendNext(sql: AnySql, outcome: Outcome, at?: Date): Promise<string[]> {
  const time = at ? { at } : {};
  const { deliveries } = await exchange(sql, time);
  await exchange(sql, { results: deliveries.map((delivery) => resultOf(delivery, outcome)), maxRows: 0, ...time });
  return deliveries.map(({ id }) => id);
}

/** A delivery's row as it is now. */
export async function readDelivery(sql: AnySql, id: string): Promise<Row> {
  const [row] = await sql<Row[]>`select * from keyframe.webhook_deliveries where id = ${id}`;
  if (!row) throw new Error(`There is no delivery ${id}.`);
  return row;
}

/**
 * Under which token somebody is sending a delivery; null when nobody is. Of a lease that ran out the token is there
 * until its slot is given to another.
 */
export async function leaseOf(sql: AnySql, delivery: string): Promise<string | null> {
  const [row] = await sql<
    { token: string }[]
  >`select token from keyframe_private.delivery_leases where delivery_id = ${delivery}`;
  return row?.token ?? null;
}

/** Leases a delivery as a claim does, until the time given. */
export async function lease(sql: AnySql, delivery: string, until: Date): Promise<void> {
  await sql`
    insert into keyframe_private.delivery_leases (endpoint_id, slot, delivery_id, token, leased_until)
    select d.endpoint_id, 1, d.id, gen_random_uuid(), ${until} from keyframe.webhook_deliveries d where d.id = ${delivery}`;
}

/** An endpoint's row as it is now. */
export async function readEndpoint(sql: AnySql, id: string): Promise<Row> {
  const [row] = await sql<Row[]>`select * from keyframe.webhook_endpoints where id = ${id}`;
  if (!row) throw new Error(`There is no endpoint ${id}.`);
  return row;
}

/** Empties what webhooks have written, endpoints and their secrets included. */
export async function clearWebhooks(sql: AnySql): Promise<void> {
  await sql`delete from keyframe.webhook_events`;
  await sql`delete from keyframe.webhook_endpoints`;
  await sql`truncate keyframe_private.deleted_endpoints, keyframe_private.delivery_leases`;
}

/** Who calls a function of the Data API: a user's id, or one of the other two roles. */
export type Caller = string | "service_role" | "anon";

/** A function of keyframe as PostgREST calls it, by names, with the caller's own rights. */
export async function call<T>(
  db: ClonedDatabase,
  caller: Caller,
  name: string,
  args: Record<string, string | number | boolean | object | null> = {},
): Promise<T> {
  const claims =
    caller === "service_role" || caller === "anon" ? { role: caller } : { role: "authenticated", sub: caller };
  const names = Object.keys(args).map((key, i) => `${key} => $${i + 1}`);
  return await db.as(claims, async (sql) => {
    const [row] = await sql.unsafe<{ answer: T }[]>(
      `select keyframe.${name}(${names.join(", ")}) as answer`,
      Object.values(args) as never[], // jsonb parameters take any object
    );
    if (!row) throw new Error(`${name} gave no row.`);
    return row.answer;
  });
}

import type postgres from "postgres";
import type {
  Exchanged as ExchangeAnswer,
  LeasedEndpoint,
} from "../../../supabase/functions/keyframe-deliver/deliveries/database.ts";
import type { Claims, ClonedDatabase } from "./clone-database.ts";
import { emptyTables } from "./empty-tables.ts";
import type { Row } from "./predictions.ts";

type AnySql = postgres.Sql | postgres.TransactionSql;

/** One delivery that exchange_deliveries hands out, with its endpoint. */
export type Leased = LeasedEndpoint["deliveries"][number] & { endpoint_id: string };

/** exchange_deliveries' answer. `deliveries`: those of all endpoints. */
export type Exchanged = ExchangeAnswer & { deliveries: Leased[] };

/** What came of a request, but for the delivery's identifiers and attempt. */
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
  const { last_attempt_at, ...others }: { last_attempt_at?: Date | null } = columns;
  const rows = events.map((event) => ({
    event_id: event.id,
    endpoint_id: endpoint,
    owner_id: event.owner_id,
    event_type: "project.created",
    ...due,
    ...others,
  }));
  const seeded = await sql<{ id: string }[]>`insert into keyframe.webhook_deliveries ${sql(rows)} returning id`;
  const ids = seeded.map(({ id }) => id);
  // A new delivery has no attempt; one that gets it is counted.
  if (last_attempt_at)
    await sql`update keyframe.webhook_deliveries set last_attempt_at = ${last_attempt_at} where id = any (${ids})`;
  return ids;
}

const WORKER = crypto.randomUUID();

export async function exchange(
  sql: AnySql,
  {
    results = [],
    returned = [],
    worker = WORKER,
    maxRows = 100,
    heartbeatMs = null,
    at,
    waitMs = 0,
    maxBytes = 2_000_000,
    cursors = {},
  }: {
    results?: Result[];
    returned?: number[];
    worker?: string;
    maxRows?: number;
    heartbeatMs?: number | null;
    at?: Date;
    waitMs?: number;
    maxBytes?: number;
    cursors?: unknown;
  } = {},
): Promise<Exchanged> {
  const [row] = await sql<{ answer: ExchangeAnswer }[]>`
    select keyframe_worker.exchange_deliveries(
      ${JSON.stringify(results)}::text::jsonb, ${worker}, ${maxRows}, ${JSON.stringify(returned)}::text::jsonb, ${maxBytes}, ${heartbeatMs}, ${waitMs},
      cursors => ${JSON.stringify(cursors)}::text::jsonb, at => coalesce(${at ?? null}, now())) as answer`;
  if (!row) throw new Error("exchange_deliveries gave no row.");
  const deliveries = row.answer.endpoints.flatMap(({ endpoint_id, deliveries }) =>
    deliveries.map((delivery) => ({ ...delivery, endpoint_id })),
  );
  return { ...row.answer, deliveries };
}

export type Result = Outcome & Pick<Leased, "id" | "work_id" | "attempt" | "endpoint_id">;

/** A result as deliver sends it: HTTP 500 after 12 ms unless the outcome says otherwise. */
export function resultOf(delivery: Omit<Leased, "body" | "event_id">, outcome: Outcome = {}): Result {
  const { id, work_id, attempt, endpoint_id } = delivery;
  const failed = outcome.error ? {} : { status_code: 500 };
  return {
    ...{ id, work_id, attempt, endpoint_id },
    started_at: new Date().toISOString(),
    duration_ms: 12,
    ...failed,
    ...outcome,
  };
}

/** The same result for each. */
export const resultsOf = (deliveries: Leased[], outcome?: Outcome): Result[] =>
  deliveries.map((delivery) => resultOf(delivery, outcome));

/** Records results, claiming nothing. */
export const record = (sql: AnySql, results: Result[], at?: Date): Promise<Exchanged> =>
  exchange(sql, { results, maxRows: 0, ...(at && { at }) });

/** Claims what is due and records an outcome for all of it, or one for each. Returns the ids of what was sent. */
export async function sendNext(sql: AnySql, outcome: Outcome | ((i: number) => Outcome), at?: Date): Promise<string[]> {
  const claim = () => exchange(sql, at ? { at } : {});
  let { deliveries } = await claim();
  if (deliveries.length === 0) ({ deliveries } = await claim()); // the first one has moved them: the endpoint's standing changed
  const outcomeOf = typeof outcome === "function" ? outcome : () => outcome;
  await record(
    sql,
    deliveries.map((delivery, i) => resultOf(delivery, outcomeOf(i))),
    at,
  );
  return deliveries.map(({ id }) => id);
}

/** A delivery's row as it is now. */
export async function readDelivery(sql: AnySql, id: string): Promise<Row> {
  const [row] = await sql<Row[]>`select * from keyframe.webhook_deliveries where id = ${id}`;
  if (!row) throw new Error(`There is no delivery ${id}.`);
  return row;
}

/** The leased work of an endpoint. */
export const leasedOf = (sql: AnySql, endpoint: string) =>
  sql<Row[]>`select * from keyframe_private.work where lane = ${endpoint} and state = 'leased' order by id`;

/** An endpoint's row as it is now. */
export async function readEndpoint(sql: AnySql, id: string): Promise<Row> {
  const [row] = await sql<Row[]>`select * from keyframe.webhook_endpoints where id = ${id}`;
  if (!row) throw new Error(`There is no endpoint ${id}.`);
  return row;
}

/** Empties what webhooks have written, endpoints and their secrets included. */
export async function clearWebhooks(sql: postgres.Sql): Promise<void> {
  await sql`delete from keyframe.webhook_events`;
  await sql`delete from keyframe.webhook_endpoints`;
  await emptyTables(sql, "keyframe_private.deleted_endpoints, keyframe_private.work");
}

/** Who calls a function of the Data API: a user's id, or one of the other two roles. */
export type Caller = string | "service_role" | "anon" | Claims;

function claimsOf(caller: Caller): Claims {
  if (typeof caller === "object") return caller;
  return caller === "service_role" || caller === "anon" ? { role: caller } : { role: "authenticated", sub: caller };
}

/** A function of keyframe as PostgREST calls it, by names, with the caller's own rights. */
export async function call<T>(
  db: ClonedDatabase,
  caller: Caller,
  name: string,
  args: Record<string, string | number | boolean | object | null> = {},
): Promise<T> {
  const claims = claimsOf(caller);
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

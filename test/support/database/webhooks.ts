import type postgres from "postgres";
import type {
  ClaimedEndpoint,
  Exchanged as ExchangeAnswer,
  LeasedLane,
} from "../../../supabase/functions/keyframe-deliver/lanes/database.ts";
import type { Claims, ClonedDatabase } from "./clone-database.ts";
import { emptyTables } from "./empty-tables.ts";
import type { Row } from "./predictions.ts";

type AnySql = postgres.Sql | postgres.TransactionSql;

/** One delivery that exchange_deliveries hands out, with its lane and its endpoint. */
export type Leased = {
  id: string;
  attempt: number;
  event_id: string;
  body: string;
  lane_id: string;
  lane_token: string;
  endpoint_id: string;
};

/** The endpoints of a lane in exchange_deliveries' answer. */
export type Lane = Pick<ClaimedEndpoint, "lane_id" | "token"> & {
  endpoints: Omit<ClaimedEndpoint, "lane_id" | "token">[];
};

type Answer = Pick<ExchangeAnswer, "unrecorded" | "claim_error"> & { recorded: number };
type Claim = NonNullable<ExchangeAnswer["claim"]>;

/** exchange_deliveries' answer with its claim, and its endpoints by lane. `deliveries`: those of all lanes. */
export type Exchanged = Answer & Omit<Claim, "endpoints"> & { lanes: Lane[]; deliveries: Leased[] };

/** What came of a request, but for the delivery's identifier, attempt and lane. */
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

/** exchange_deliveries' answer. Unless `leased` says otherwise, the lanes of the results are released with them. */
export async function exchange(
  sql: AnySql,
  {
    results = [],
    leased = releasedLanes(results),
    maxLanes = 100,
    leaseSeconds = 60,
    heartbeatMs = null,
    at,
    waitMs = 0,
    smallLane = 1000,
    maxBytes = 2_000_000,
    oneByOne = false,
  }: {
    results?: Result[];
    leased?: LeasedLane[];
    maxLanes?: number;
    leaseSeconds?: number;
    heartbeatMs?: number | null;
    at?: Date;
    waitMs?: number;
    smallLane?: number;
    maxBytes?: number;
    oneByOne?: boolean;
  } = {},
): Promise<Exchanged> {
  const asked = {
    lanes: leased,
    ...{ max_lanes: maxLanes, small_lane: smallLane, max_bytes: maxBytes, lease_seconds: leaseSeconds },
  };
  const [row] = await sql<{ answer: Answer & { claim: Claim | null } }[]>`
    select keyframe_worker.exchange_deliveries(
      ${JSON.stringify(results)}::text::jsonb, ${JSON.stringify(asked)}::text::jsonb, ${heartbeatMs}, ${waitMs},
      at => coalesce(${at ?? null}, now()), one_by_one => ${oneByOne}) as answer`;
  if (!row) throw new Error("exchange_deliveries gave no row.");
  const { claim, ...recording } = row.answer;
  if (claim === null) throw new Error(`The claim failed with ${recording.claim_error}.`);
  const { endpoints: claimed, ...rest } = claim;
  const lanes = Map.groupBy(claimed, ({ lane_id }) => lane_id)
    .values()
    .map((ofLane) => ({
      ...{ lane_id: ofLane[0]?.lane_id ?? "", token: ofLane[0]?.token ?? "" },
      endpoints: ofLane.map(({ lane_id, token, ...endpoint }) => endpoint),
    }))
    .toArray();
  const deliveries = claimed.flatMap(({ lane_id, token: lane_token, endpoint_id, deliveries }) =>
    deliveries.map((delivery) => ({ ...delivery, lane_id, lane_token, endpoint_id })),
  );
  return { ...recording, ...rest, lanes, deliveries };
}

/** Names the lanes of an answer as a worker does that still has these of their deliveries; by default all. */
export function leasedLanes(
  { lanes }: Pick<Exchanged, "lanes">,
  { sending = () => true, more = true }: { sending?: (id: string) => boolean; more?: boolean } = {},
): LeasedLane[] {
  return lanes.map(({ lane_id, token, endpoints }) => ({
    ...{ lane_id, token, most: more ? 1000 : 0, pause_ms: 0 },
    sending: endpoints.flatMap(({ deliveries }) => deliveries.map(({ id }) => id).filter(sending)),
    // An endpoint brings as many as it has room for besides these.
    room: Object.fromEntries(
      endpoints.map(({ endpoint_id, max_open, deliveries }) => [
        endpoint_id,
        2 * max_open - deliveries.filter(({ id }) => sending(id)).length,
      ]),
    ),
  }));
}

/** The lanes of these results, with nothing else to send. */
function releasedLanes(results: Result[]): LeasedLane[] {
  const lanes = new Map(results.map(({ lane_id, lane_token }) => [lane_id, lane_token]));
  return [...lanes].map(([lane_id, token]) => ({ lane_id, token, sending: [], most: 0, room: {}, pause_ms: 0 }));
}

/** A result, with its lane. */
export type Result = Outcome & Pick<Leased, "id" | "attempt" | "endpoint_id" | "lane_id" | "lane_token">;

/** A result as deliver sends it: HTTP 500 after 12 ms unless the outcome says otherwise. */
export function resultOf(delivery: Omit<Leased, "body" | "event_id">, outcome: Outcome = {}): Result {
  const { id, attempt, endpoint_id, lane_id, lane_token } = delivery;
  const failed = outcome.error ? {} : { status_code: 500 };
  return {
    ...{ id, attempt, endpoint_id, lane_id, lane_token },
    started_at: new Date().toISOString(),
    duration_ms: 12,
    ...failed,
    ...outcome,
  };
}

/** Records results and releases their lanes, claiming nothing. */
export const record = (sql: AnySql, results: Result[], at?: Date): Promise<Exchanged> =>
  exchange(sql, { results, maxLanes: 0, ...(at && { at }) });

/** Claims what is due and records an outcome for all of it, or one for each. Returns the ids of what was sent. */
export async function sendNext(sql: AnySql, outcome: Outcome | ((i: number) => Outcome), at?: Date): Promise<string[]> {
  const { deliveries } = await exchange(sql, at ? { at } : {});
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

/** A lane's row: that of an owner, or of a service-wide endpoint. */
export async function readLane(sql: AnySql, id: string): Promise<Row | undefined> {
  const [row] = await sql<Row[]>`select * from keyframe_private.lanes where id = ${id}`;
  return row;
}

/** The token of a lane; null when it is free. Of an expired lease the token stays until a worker takes the lane. */
export const tokenOf = async (sql: AnySql, lane: string): Promise<unknown> =>
  (await readLane(sql, lane))?.token ?? null;

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
  await emptyTables(sql, "keyframe_private.deleted_endpoints, keyframe_private.lanes, keyframe_private.lane_arrivals");
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

import type postgres from "postgres";
import { expect } from "vitest";
import type { FlowReceiver } from "./receiver.ts";
import { signedPost } from "./signed-post.ts";
import type { StackInfo } from "../stack/global-setup.ts";
import { until } from "../until.ts";

/** A delivery, and of each attempt its number, its status code or -, and its error. */
type Story = {
  id: string;
  event_id: string;
  event_type: string;
  status: "pending" | "delivered" | "exhausted";
  attempts: number;
  lease_token: string | null;
  next_attempt_at: Date;
  told: string[];
};

/** The deliveries of an endpoint, oldest event first. */
export async function readStories(sql: postgres.Sql, webhookId: string): Promise<Story[]> {
  return await sql<Story[]>`
    select d.id, d.event_id, d.event_type, d.status, d.attempts, w.lease_token, d.next_attempt_at,
      coalesce((
        select array_agg(concat_ws(' ', a.attempt, coalesce(a.status_code::text, '-'), a.error) order by a.attempt)
        from keyframe.webhook_attempts a where a.delivery_id = d.id), '{}') as told
    from keyframe.webhook_deliveries d join keyframe.webhook_events v on v.id = d.event_id
    left join keyframe_private.work w on w.subject = d.id and w.state = 'leased'
    where d.endpoint_id = ${webhookId} order by v.created_at, v.id`;
}

/** Waits until so many deliveries of an endpoint are as wanted, and no others are there. */
export const untilStories = (
  sql: postgres.Sql,
  webhookId: string,
  what: string,
  count: number,
  isSo: (story: Story) => boolean,
  seconds = 60,
): Promise<Story[]> =>
  until(
    what,
    async () => {
      const stories = await readStories(sql, webhookId);
      return stories.length === count && stories.every(isSo) && stories;
    },
    seconds * 1000,
  );

export const isDelivered = ({ status }: Story) => status === "delivered";
export const hasFailed = ({ attempts, lease_token }: Story) => attempts > 0 && lease_token === null;

/**
 * Lets the time pass that failed deliveries of an endpoint wait for their next attempt, and kicks deliver as Postgres does; a process
 * looks by itself.
 */
export async function letRetriesComeDue(
  sql: postgres.Sql,
  stack: Pick<StackInfo, "url" | "kickSecret" | "workers">,
  webhookId: string,
): Promise<void> {
  await sql`
    update keyframe.webhook_deliveries set next_attempt_at = now()
    where endpoint_id = ${webhookId} and status = 'pending'`;
  if (stack.workers !== "functions") return;
  expect(await signedPost(`${stack.url}/functions/v1/keyframe-deliver`, stack.kickSecret)).toBe(202);
}

/** Lets the time pass that leased deliveries of an endpoint still have. */
export async function letLeaseRunOut(sql: postgres.Sql, webhookId: string): Promise<void> {
  await sql`
    update keyframe_private.work set due_at = now() - interval '1 second' where lane = ${webhookId} and state = 'leased'`;
}

/**
 * Checks what must hold however it came about: each delivered event has arrived, each request was for an event that is in
 * the database and carried exactly its body, attempts are numbered without a gap, and no worker has it any more.
 */
export async function expectSoundDeliveries(
  sql: postgres.Sql,
  webhookId: string,
  { arrivals }: Pick<FlowReceiver, "arrivals">,
): Promise<Story[]> {
  const stories = await readStories(sql, webhookId);
  const bodies = new Map(
    (
      await sql<{ id: string; body: string }[]>`
        select v.id, v.payload::text as body from keyframe.webhook_events v
        join keyframe.webhook_deliveries d on d.event_id = v.id where d.endpoint_id = ${webhookId}`
    ).map(({ id, body }) => [id, body]),
  );
  for (const { id, body } of arrivals) expect(body).toBe(bodies.get(id));
  const arrived = new Set(arrivals.map(({ id }) => id));
  for (const { status, event_id, attempts, lease_token, told } of stories) {
    if (status === "delivered") expect(arrived).toContain(event_id);
    expect(lease_token).toBeNull();
    expect(told.map((attempt) => Number(attempt.split(" ")[0]))).toEqual(
      Array.from({ length: attempts }, (_, i) => i + 1),
    );
  }
  return stories;
}

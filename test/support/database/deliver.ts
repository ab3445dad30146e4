import { DatabaseError } from "../../../shared/platform/call-database.ts";
import { createLog } from "../../../shared/platform/log.ts";
import { createWorker } from "../../../shared/worker/worker.ts";
import {
  type AttemptResult,
  createExchange,
  type Delivery,
  type ExchangeArguments,
} from "../../../supabase/functions/keyframe-deliver/deliveries/database.ts";
import {
  createDeliveryWork,
  DELIVER_LIMITS,
} from "../../../supabase/functions/keyframe-deliver/deliveries/delivery-work.ts";
import { makeClock } from "../worker-clock.ts";
import type { ClonedDatabase } from "./clone-database.ts";
import { columnOf } from "./predictions.ts";
import { addEndpoint, seedDeliveries } from "./webhooks.ts";

type Call = ExchangeArguments & { at: number; ms: number };
type Request = (delivery: string, endpoint: string) => number | { ms: number; error: "timeout" };

/** What the tests of deliver's queue prepare and look at in their database. */
export function deliverOver(db: ClonedDatabase) {
  /**
   * The queue and the worker of deliver over the SQL that they call, with a clock that stands still meanwhile. A call takes 5 ms unless
   * `callMs` says otherwise. `request`: how long a request takes, and whether it fails; it may throw.
   */
  function makeDeliver({
    request = () => 10,
    callMs = () => 5,
    fault = () => undefined,
  }: {
    request?: Request;
    callMs?: () => number;
    /** Called before each transaction. What it throws, the call throws; "lost": the work was done, the answer got lost. */
    fault?: (call: Call) => "lost" | undefined;
  } = {}) {
    const time = makeClock();
    let began = 0;
    let added = Promise.withResolvers<void>();
    const calls: Call[] = [];
    const lines: string[] = [];
    const startedAt = new Map<string, number[]>();
    const open = new Map<string, number>();
    const mostOpen = new Map<string, number>();
    const names = new Map<string, string>();
    const count = (key: string, by: number) => {
      open.set(key, (open.get(key) ?? 0) + by);
      mostOpen.set(key, Math.max(mostOpen.get(key) ?? 0, open.get(key) ?? 0));
    };
    const at = () => new Date(began + time.now());

    const exchange = createExchange(async (called, args) => {
      const { results, worker_id, max_rows, returned, max_bytes, heartbeat_ms, cursors } = args as ExchangeArguments;
      const answered = time.outside(
        db.sql<{ answer: unknown }[]>`
          select keyframe_worker.exchange_deliveries(${JSON.stringify(results)}::text::jsonb, ${worker_id}, ${max_rows}, ${JSON.stringify(returned)}::text::jsonb,
            ${max_bytes}, ${heartbeat_ms}, cursors => ${JSON.stringify(cursors)}::text::jsonb, at => ${at()}) as answer`,
      );
      const [row] = await answered.catch(({ code }) => {
        throw new DatabaseError(called, 400, code);
      });
      return row?.answer;
    });
    const isDue = () =>
      time.outside(db.sql<{ due: boolean }[]>`select keyframe_private.has_due_work('{deliver}', ${at()}) as due`);

    const log = createLog({}, (line) => void lines.push(line));
    const deliveryWork = createDeliveryWork({
      async exchange(args) {
        const call = { at: time.now(), ...args, ms: callMs() };
        calls.push(call);
        await time.sleep(call.ms / 2);
        if (call.wait_ms > 0 && !(await isDue())[0]?.due) await Promise.race([time.sleep(call.wait_ms), added.promise]);
        const what = fault(call);
        const answer = await exchange(args);
        await time.sleep(call.ms / 2);
        if (what === "lost") throw new Error("no answer");
        return answer;
      },
      async attempt({ id, work_id, attempt, endpoint_id }: Delivery): Promise<AttemptResult> {
        startedAt.set(id, [...(startedAt.get(id) ?? []), time.now()]);
        const endpoint = names.get(endpoint_id) ?? "";
        for (const key of [endpoint, "all"]) count(key, 1);
        try {
          const took = request(id, endpoint);
          const { ms, error } = typeof took === "number" ? { ms: took, error: null } : took;
          await time.sleep(ms);
          const said = {
            started_at: at().toISOString(),
            duration_ms: ms,
            status_code: error === null ? 200 : null,
            error,
          };
          return { id, work_id, attempt, endpoint_id, ...said, retry_after_seconds: null, response_excerpt: null };
        } finally {
          for (const key of [endpoint, "all"]) count(key, -1);
        }
      },
      log,
      clock: time.clock,
    });
    const identify = ({ id }: Delivery) => ({ deliveryId: id });
    const { kick: wake } = createWorker({ ...deliveryWork, identify, log, clock: time.clock, limits: DELIVER_LIMITS });
    function kick() {
      began ||= Date.now(); // what the test has prepared is due
      return wake();
    }
    return {
      ...time,
      kick,
      /** Lets it run until a moment that the test is about, not to its end. */
      async runFor(ms: number) {
        void kick();
        await time.sleepUntil(ms);
      },
      calls,
      startedAt,
      events: () => lines.map((line) => String(JSON.parse(line).event)),
      /** The fields of the lines of an event. */
      lines: (event: string) =>
        lines
          .map((line) => JSON.parse(line))
          .flatMap(({ event: of, level, time, ...fields }) => (of === event ? fields : [])),
      mostOpen: (key: string) => mostOpen.get(key) ?? 0,
      /** An endpoint with so many due deliveries, their ids in order; owner null: a service-wide one. */
      async add(name: string, owner: string | null, deliveries: number, columns: object = {}) {
        const id = await addEndpoint(db.sql, owner, columns);
        names.set(id, name);
        return { id, deliveries: deliveries > 0 ? await seedDeliveries(db.sql, id, deliveries) : [] };
      },
      /** Ends the wait of a call, which finds new deliveries within 2 ms. */
      endWait(): void {
        added.resolve();
        added = Promise.withResolvers();
      },
      /** One more due delivery, from now on. */
      async deliver(endpoint: string) {
        const [id = ""] = await time.outside(seedDeliveries(db.sql, endpoint, 1, { next_attempt_at: at() }));
        return { id, at: time.now() };
      },
      at: () => (began === 0 ? new Date() : at()),
      name: (endpoint: string, name: string) => void names.set(endpoint, name),
      startOf: (id: string) => startedAt.get(id)?.[0] ?? Number.NaN,
    };
  }

  const isRecorded = async () =>
    new Set(await columnOf(db.sql`select id from keyframe.webhook_deliveries where attempts > 0`));

  return { makeDeliver, isRecorded };
}

export const isSentOnce = (startedAt: Map<string, number[]>) =>
  [...startedAt.values()].every((times) => times.length === 1);

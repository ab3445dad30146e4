import { describe, expect, test } from "vitest";
import { setSettings } from "../../support/database/settings.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import {
  claim,
  complete,
  fail,
  makeDue,
  providerSays,
  readRow,
  retryLater,
  runsToCancel,
  submitsOf,
  sweepAndClaim,
} from "../../support/database/calls.ts";
import { useWorld, seedPrediction } from "../../support/database/predictions.ts";

const db = useDatabase();
const world = useWorld(db);

/** In how many seconds its work is due. */
const waitOf = async (id: string, sql: Parameters<typeof readRow>[0] = db.sql) => {
  const [row] = await sql<{ seconds: number }[]>`
    select extract(epoch from max(due_at) - now())::float as seconds from keyframe_private.work where subject = ${id}`;
  return row?.seconds ?? Number.NaN;
};
/** A poll says that its run goes on. */
const pollLater = async (sql: Parameters<typeof readRow>[0], id: string, lease: string | null) => {
  const { provider_prediction_id: run, status } = await readRow(sql, id);
  return await providerSays(sql, { id, run: String(run), status: String(status), lease: lease ?? "" });
};

test("a complete and a fail with the same lease at once → exactly one of them holds", async () => {
  const { id, lease } = await seedPrediction(db.sql, world, { status: "storing" });
  const [completed, failed] = await Promise.all([complete(db.sql, id, lease), fail(db.sql, id, lease)]);
  expect([completed, failed].filter(Boolean).length).toBe(1);
  expect((await readRow(db.sql, id)).status).toBe(completed ? "succeeded" : "failed");
});

test.each([
  ["complete_prediction", "storing", complete, false, true],
  ["fail_prediction", "processing", fail, false, true],
  ["retry_prediction_later", "queued", retryLater, "too_late", "later"],
] as const)(
  "%s of a %s prediction under no lease, or one that another worker has taken over → refused; under the new one → done",
  async (_name, status, call, refused, done) => {
    const columns = { updated_at: inMinutes(-1), ...(status === "queued" && { lease_token: null, attempt: 0 }) };
    const { id, lease } = await seedPrediction(db.sql, world, { status, columns });
    const old = lease ?? (await claim(db.sql, 100)).find((claimed) => claimed.id === id)?.lease_token ?? null;
    await makeDue(db.sql, id);
    const held = (await claim(db.sql, 100)).find((claimed) => claimed.id === id)?.lease_token ?? null;
    expect(held).not.toBe(old);
    for (const lease of [old, null]) expect(await call(db.sql, id, lease)).toBe(refused);
    expect(await readRow(db.sql, id)).toMatchObject({ status, lease_token: held });
    expect(await call(db.sql, id, held)).toBe(done);
    for (const lease of [held, null]) expect(await call(db.sql, id, lease)).toBe(refused);
  },
);

test("a callback moves the prediction on under a poller → the poller comes too late", async () => {
  const { id, lease, run } = await seedPrediction(db.sql, world, { status: "processing" });
  await providerSays(db.sql, { id, run: run ?? "", status: "succeeded" });
  expect(await retryLater(db.sql, id, lease)).toBe("too_late");
  expect((await readRow(db.sql, id)).status).toBe("storing");
});

describe("putting a task off", () => {
  test("the waits double from retry_base up to retry_max, each ±20 % by chance", async () => {
    await setSettings(db.sql, { max_failures: 100 });
    const { id } = await seedPrediction(db.sql, world, { status: "storing" });
    const waitAfter = async (failures: number) => {
      const lease = crypto.randomUUID();
      await db.sql`
        update keyframe_private.work set failures = ${failures}, state = 'leased', worker = ${lease}, lease_token = ${lease} where subject = ${id}`;
      return await db.sql.begin(async (sql) => {
        expect(await retryLater(sql, id, lease)).toBe("later");
        return await waitOf(id, sql);
      });
    };
    const doubled = { 0: 2, 1: 4, 2: 8, 5: 64 };
    for (const [failures, seconds] of Object.entries(doubled)) {
      const waits: number[] = [];
      for (let time = 1; time <= 20; time++) waits.push(await waitAfter(Number(failures)));
      const [shortest, longest] = [Math.min(...waits), Math.max(...waits)];
      expect(shortest).toBeGreaterThanOrEqual(seconds * 0.8);
      expect(longest).toBeLessThanOrEqual(seconds * 1.2);
      // Twenty of them lie closer together once in ten thousand million times.
      expect(longest - shortest).toBeGreaterThan(seconds * 0.1);
      const counted = { failures: Number(failures) + 1, last_error: "provider_unavailable", lease_token: null };
      expect(await readRow(db.sql, id)).toMatchObject(counted);
    }
    for (const failures of [10, 60, 98]) expect(await waitAfter(failures)).toBe(120);
  });

  test("a rate limit of the provider → waited for in full, as often as it takes, and never counted", async () => {
    const { id, lease } = await seedPrediction(db.sql, world, { status: "queued", columns: { failures: 7 } });
    expect(await retryLater(db.sql, id, lease, { code: "provider_rate_limited", retryAfter: 300 })).toBe("later");
    expect(await waitOf(id)).toBeGreaterThan(240);
    const waiting = { status: "queued", failures: 7, last_error: "provider_rate_limited" };
    expect(await readRow(db.sql, id)).toMatchObject(waiting);
  });

  test("a poll with nothing new, or progress → failures before it no longer count; polled again after poll_interval", async () => {
    const columns = { failures: 7, last_error: "provider_unavailable" };
    const polled = await seedPrediction(db.sql, world, { status: "processing", columns });
    expect(await pollLater(db.sql, polled.id, polled.lease)).toBe("unchanged");
    expect(await waitOf(polled.id)).toBeGreaterThan(15);
    expect(await waitOf(polled.id)).toBeLessThanOrEqual(30);
    const moved = await seedPrediction(db.sql, world, { status: "starting", columns });
    await providerSays(db.sql, { id: moved.id, run: moved.run ?? "", status: "succeeded" });
    const none = { failures: 0, last_error: null, lease_token: null };
    for (const { id } of [polled, moved]) expect(await readRow(db.sql, id)).toMatchObject(none);
  });
});

describe("the search for a run whose submit was never answered", () => {
  const submit = async (id: string) => (await claim(db.sql, 100)).find((task) => task.id === id);

  test("after a lost answer → since the first submit without an answer, however many follow", async () => {
    const { id } = await seedPrediction(db.sql, world, { columns: { attempt: 0, lease_token: null } });
    const first = await submit(id);
    const [{ submitted_at: since } = {}] = await submitsOf(db.sql, id);
    expect(first).toMatchObject({ attempt: 1, search_since: null });
    for (const attempt of [2, 3]) {
      const { lease_token } = await readRow(db.sql, id);
      await retryLater(db.sql, id, String(lease_token), { answered: false });
      await makeDue(db.sql, id);
      const next = await submit(id);
      expect(next).toMatchObject({ attempt, search_attempt: 1 });
      expect(new Date(String(next?.search_since))).toEqual(since);
    }
  });

  test("and the clock of the database is set back → searched for all the same", async () => {
    const unanswered = inMinutes(5);
    const { id } = await seedPrediction(db.sql, world, { columns: { lease_token: null }, unanswered });
    expect(new Date(String((await submit(id))?.search_since))).toEqual(unanswered);
  });
});

// Once the provider has accepted a run it is paid for: only its end or its deadline gives it up, not failures of ours.

const minutesLeft = async (id: string) => {
  const [row] = await db.sql<{ minutes: number }[]>`
    select (extract(epoch from deadline_at - now()) / 60)::float as minutes from keyframe.predictions where id = ${id}`;
  return row?.minutes ?? Number.NaN;
};
const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000);

describe.each(["starting", "processing", "storing"] as const)("a %s prediction", (status) => {
  test("far more failures than max_failures, and then one lease that ran out → tried again, as often as it takes", async () => {
    const { id } = await seedPrediction(db.sql, world, { status, columns: { failures: 7 } });
    for (const failures of [8, 9, 10]) {
      const { lease_token } = await readRow(db.sql, id);
      expect(await retryLater(db.sql, id, String(lease_token), { code: "storage_unavailable" })).toBe("later");
      expect(await readRow(db.sql, id)).toMatchObject({ status, failures, last_error: "storage_unavailable" });
      await makeDue(db.sql, id);
      // Its lease was given back, so nobody died over it: handed out, not exhausted.
      expect((await claim(db.sql, 100)).find((task) => task.id === id)).toBeDefined();
    }
    await makeDue(db.sql, id);
    await claim(db.sql, 100);
    // One lease ran out: the first in a row.
    expect(await readRow(db.sql, id)).toMatchObject({ status, failures: 1 });
  });

  test("and then its deadline → failed, with its run canceled unless it is over", async () => {
    const { id, run } = await seedPrediction(db.sql, world, {
      status,
      columns: { failures: 30, deadline_at: inMinutes(-1) },
    });
    await sweepAndClaim(db.sql);
    expect(await readRow(db.sql, id)).toMatchObject({ status: "failed", error_code: "deadline_exceeded" });
    if (status === "storing") expect(await runsToCancel(db.sql)).not.toContain(run);
    else expect(await runsToCancel(db.sql)).toContain(run);
  });
});

test.each([
  [
    "a minute before the deadline → 50 minutes more to copy it, of the hour that the provider keeps it",
    "processing",
    1,
    50,
  ],
  ["long before the deadline → the deadline stays", "processing", 59, 59],
  ["a second time → the deadline is not put off again", "storing", 10, 10],
] as const)("an output is ready %s", async (_what, status, before, after) => {
  const { id, run } = await seedPrediction(db.sql, world, { status, columns: { deadline_at: inMinutes(before) } });
  await providerSays(db.sql, { id, run: run ?? "", status: "succeeded" });
  expect(await minutesLeft(id)).toBeCloseTo(after, 0);
});

test("four lanes, the newest work in the first → two claims of two reach all four", async () => {
  await db.sql.begin(async (sql) => {
    const lanes = Array.from({ length: 4 }, (_, at) => `00000000-0000-4000-8000-00000000000${at + 1}`);
    for (const lane of [...lanes.slice(1), lanes[0] ?? ""]) {
      await sql`
        insert into keyframe_private.work (queue, kind, subject, owner_id, lane, resource, state, due_at)
        select 'ask', 'poll', gen_random_uuid(), ${lane}, ${lane}, 'cursor', 'ready', now() from generate_series(1, 2)`;
    }
    const worker = crypto.randomUUID();
    let cursor = "00000000-0000-0000-0000-000000000000";
    const reached: string[] = [];
    for (let claims = 0; claims < 2; claims++) {
      const [row] = await sql<{ lanes: string[]; cursor_lane: string }[]>`
        select array(select w.lane from unnest(l.leased) w) as lanes, l.cursor_lane
        from keyframe_private.lease_work('ask', ${worker}, interval '1 minute', 2, now(), '', ${cursor}) l`;
      reached.push(...(row?.lanes ?? []));
      cursor = row?.cursor_lane ?? "";
    }
    expect(reached.toSorted()).toEqual(lanes);
    await sql`delete from keyframe_private.work where resource = 'cursor'`;
  });
});

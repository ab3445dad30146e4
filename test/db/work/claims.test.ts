import { beforeEach, describe, expect, test } from "vitest";
import {
  begin,
  claim,
  claimOnly,
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
import { useDatabase } from "../../support/database/clone-database.ts";
import { clearPredictions } from "../../support/database/empty-tables.ts";
import {
  addWorld,
  columnOf,
  type Row,
  seedCopies,
  seedPrediction,
  seedSubmit,
  useWorld,
} from "../../support/database/predictions.ts";
import { setSettings } from "../../support/database/settings.ts";

const db = useDatabase();
const world = useWorld(db);
beforeEach(() => clearPredictions(db.sql));

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000);
const inMinutes = (minutes: number) => inSeconds(minutes * 60);
const unclaimed = (columns: Row = {}) => ({ columns: { attempt: 0, lease_token: null, ...columns } });
/** The task of a prediction that a worker claims. */
const claimOf = async (id: string) => (await claim(db.sql, 100)).find((task) => task.id === id);
/** In how many seconds its work is due. */
const waitOf = async (id: string, sql: Parameters<typeof readRow>[0] = db.sql) =>
  (
    await columnOf<number>(sql`
    select extract(epoch from max(due_at) - now())::float from keyframe_private.work where subject = ${id}`)
  )[0] ?? Number.NaN;

test("20 claims at once for 200 due predictions → every prediction is leased, and none twice", async () => {
  const { id } = await seedPrediction(db.sql, world, unclaimed());
  await seedCopies(db.sql, id, 199);
  const claimAll = async () => {
    const [worker, got] = [crypto.randomUUID(), [] as string[]];
    for (let tasks = [{ id }]; tasks.length > 0; got.push(...tasks.map((task) => task.id)))
      tasks = await claimOnly(db.sql, 3, { worker });
    return got;
  };
  const got = (await Promise.all(Array.from({ length: 20 }, claimAll))).flat();
  expect([got.length, new Set(got).size]).toEqual([200, 200]);
});

test("a claim → leases no more than asked for, owners taking turns, and the oldest of each owner first", async () => {
  const [other, added] = [await addWorld(db), [] as string[]];
  for (let count = 0; count < 3; count++) added.push((await seedPrediction(db.sql, world, unclaimed())).id);
  const { id } = await seedPrediction(db.sql, other, unclaimed());
  const ids = async () => (await claim(db.sql, 2)).map((task) => task.id).sort();
  expect(await ids()).toEqual([added[0], id].sort());
  expect(await ids()).toEqual([added[1], added[2]].sort());
  expect(await ids()).toEqual([]);
});

test("a prediction that is not due yet, or waits in line → is not leased", async () => {
  await seedPrediction(db.sql, world, unclaimed({ due_at: inSeconds(60) }));
  await seedPrediction(db.sql, world, unclaimed({ admitted_at: null, deadline_at: null }));
  expect(await claim(db.sql)).toEqual([]);
});

test("a claim while another is not committed → does not wait for what the other has made ready", async () => {
  const columns = { due_at: inSeconds(60) };
  for (const _ of [1, 2]) await makeDue(db.sql, (await seedPrediction(db.sql, world, unclaimed(columns))).id);
  await db.sql.begin(async (open) => {
    expect(await claimOnly(open, 1)).toHaveLength(1);
    await db.sql.begin(async (other) => {
      await other`set local lock_timeout = '2s'`;
      expect(await claimOnly(other)).toEqual([]);
    });
  });
});

describe("a lease", () => {
  test.each([
    ["store", "storing"],
    ["poll", "processing"],
    ["submit", "queued"],
  ] as const)(
    "the lease of a %s expires max_failures times → the prediction fails with attempts_exhausted",
    async (kind, status) => {
      await setSettings(db.sql, { max_failures: 3 });
      const columns = { lease_token: null, attempt: kind === "submit" ? 0 : 1, updated_at: inMinutes(-1) };
      const { id } = await seedPrediction(db.sql, world, { status, columns });
      for (let expired = 0; expired < 3; expired++) {
        expect(await claimOnly(db.sql)).toMatchObject([{ id, task: kind }]);
        expect(await claimOnly(db.sql)).toEqual([]);
        await makeDue(db.sql, id);
      }
      const [last] = await claimOnly(db.sql);
      expect(last && (await begin(db.sql, last))).toBeNull();
      const failed = { status: "failed", error_code: "attempts_exhausted", error_retryable: true };
      expect(await readRow(db.sql, id)).toMatchObject(failed);
    },
  );

  test("a poll's lease has expired max_failures times, and its run ends before the prediction fails → the output is stored", async () => {
    await setSettings(db.sql, { max_failures: 1 });
    const columns = { lease_token: null, updated_at: inMinutes(-1) };
    const { id, run } = await seedPrediction(db.sql, world, { status: "processing", columns });
    await claimOnly(db.sql);
    await makeDue(db.sql, id);
    const [last] = await claimOnly(db.sql);
    await providerSays(db.sql, { id, run: run ?? "", status: "succeeded" });
    expect(last && (await begin(db.sql, last))).toBeNull();
    expect(await readRow(db.sql, id)).toMatchObject({ status: "storing" });
  });

  test("a prediction whose submit was begun a million times → fails at once", async () => {
    const { id } = await seedPrediction(db.sql, world, unclaimed({ attempt: 1_000_000 }));
    await claim(db.sql);
    expect(await readRow(db.sql, id)).toMatchObject({ status: "failed", error_code: "attempts_exhausted" });
  });
});

test("an administrator changes a model's row while its submit waits → the claimed task has the new settings", async () => {
  await seedPrediction(db.sql, world, unclaimed());
  await db.sql`update keyframe.models set fixed = '{"output_format": "jpg"}' where model = 'google/nano-banana'`;
  expect((await claim(db.sql))[0]?.model_settings).toMatchObject({ fixed: { output_format: "jpg" } });
});

test.each([
  ["complete_prediction", "storing", complete, false, true],
  ["fail_prediction", "processing", fail, false, true],
  ["retry_prediction_later", "queued", retryLater, "too_late", "later"],
] as const)(
  "%s of a %s prediction without a lease, or with one since taken over → refused; with the new lease → done",
  async (_name, status, call, refused, done) => {
    const columns = { updated_at: inMinutes(-1), ...(status === "queued" && { lease_token: null, attempt: 0 }) };
    const { id, lease } = await seedPrediction(db.sql, world, { status, columns });
    const old = lease ?? (await claimOf(id))?.lease_token ?? null;
    await makeDue(db.sql, id);
    const held = (await claimOf(id))?.lease_token ?? null;
    expect(held).not.toBe(old);
    for (const lease of [old, null]) expect(await call(db.sql, id, lease)).toBe(refused);
    expect(await readRow(db.sql, id)).toMatchObject({ status, lease_token: held });
    expect(await call(db.sql, id, held)).toBe(done);
    for (const lease of [held, null]) expect(await call(db.sql, id, lease)).toBe(refused);
  },
);

test.each([
  ["complete_prediction", complete, false],
  ["fail_prediction", fail, true],
  ["retry_prediction_later", retryLater, "too_late"],
] as const)(
  "%s of a poll after a callback has moved the prediction on → nothing happens",
  async (_name, call, answer) => {
    const { id, lease, run } = await seedPrediction(db.sql, world, { status: "processing" });
    await providerSays(db.sql, { id, run: run ?? "", status: "succeeded" });
    expect(await call(db.sql, id, lease)).toBe(answer);
    expect(await readRow(db.sql, id)).toMatchObject({ status: "storing", failures: 0 });
  },
);

test("fail_prediction of a poll after the prediction has got another run → nothing happens", async () => {
  const { id, lease } = await seedPrediction(db.sql, world, { status: "processing" });
  const ran = { provider_prediction_id: `next-${id}`, submitted_at: new Date(), answered_at: new Date() };
  await seedSubmit(db.sql, { owner_id: world.owner, project_id: world.project, prediction_id: id, attempt: 2, ...ran });
  await db.sql`update keyframe.predictions set attempt = 2, provider_prediction_id = ${`next-${id}`} where id = ${id}`;
  expect(await fail(db.sql, id, lease)).toBe(true);
  expect((await readRow(db.sql, id)).status).toBe("processing");
});

test("fail_prediction of a submit whose run has failed, while the next submit is under way → nothing happens", async () => {
  const { id } = await seedPrediction(db.sql, world, unclaimed());
  const first = await claimOf(id);
  await providerSays(db.sql, { id, run: `run-${id}`, status: "failed", failure: "input_unreachable" });
  await db.sql`update keyframe_private.work set due_at = now() where subject = ${id} and state = 'scheduled'`;
  expect(await claimOf(id)).toMatchObject({ task: "submit", attempt: 2 });
  expect(await fail(db.sql, id, first?.lease_token ?? null)).toBe(true);
  expect((await readRow(db.sql, id)).status).toBe("queued");
});

test("complete_prediction of an output whose prediction was canceled meanwhile → false", async () => {
  const { id, lease } = await seedPrediction(db.sql, world, { status: "storing" });
  await db.sql`select keyframe_private.mark_canceled(${id})`;
  expect(await complete(db.sql, id, lease)).toBe(false);
});

describe("a task that is put off", () => {
  test("waits of a task that is put off → double from retry_base up to retry_max, each ±20 % by chance", async () => {
    await setSettings(db.sql, { max_failures: 100 });
    const { id } = await seedPrediction(db.sql, world, { status: "storing" });
    const waitAfter = async (failures: number) => {
      const lease = crypto.randomUUID();
      await db.sql`
        update keyframe_private.work set failures = ${failures}, state = 'leased', worker_id = ${lease}, lease_token = ${lease} where subject = ${id}`;
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

  test("a rate limit of the provider → waited for in full, as often as needed, and never counted as a failure", async () => {
    const { id, lease } = await seedPrediction(db.sql, world, { status: "queued", columns: { failures: 7 } });
    expect(await retryLater(db.sql, id, lease, { code: "provider_rate_limited", retryAfter: 300 })).toBe("later");
    expect(await waitOf(id)).toBeGreaterThan(240);
    const waiting = { status: "queued", failures: 7, last_error: "provider_rate_limited" };
    expect(await readRow(db.sql, id)).toMatchObject(waiting);
  });

  test("a poll that finds the same state, or progress → earlier failures no longer count; polled again after poll_interval", async () => {
    const columns = { failures: 7, last_error: "provider_unavailable" };
    const polled = await seedPrediction(db.sql, world, { status: "processing", columns });
    const says = { id: polled.id, run: polled.run ?? "", lease: polled.lease ?? "" };
    expect(await providerSays(db.sql, says)).toBe("unchanged");
    const wait = await waitOf(polled.id);
    expect([wait > 15, wait <= 30]).toEqual([true, true]);
    const moved = await seedPrediction(db.sql, world, { status: "starting", columns });
    await providerSays(db.sql, { id: moved.id, run: moved.run ?? "", status: "succeeded" });
    const none = { failures: 0, last_error: null, lease_token: null };
    for (const { id } of [polled, moved]) expect(await readRow(db.sql, id)).toMatchObject(none);
  });
});

describe("the search for the run of an unanswered submit", () => {
  test("a submit after lost answers → searches since the first submit without an answer, however many follow", async () => {
    const { id } = await seedPrediction(db.sql, world, { columns: { attempt: 0, lease_token: null } });
    const first = await claimOf(id);
    const [{ submitted_at: since } = {}] = await submitsOf(db.sql, id);
    expect(first).toMatchObject({ attempt: 1, search_since: null });
    for (const attempt of [2, 3]) {
      const { lease_token } = await readRow(db.sql, id);
      await retryLater(db.sql, id, String(lease_token), { answered: false });
      await makeDue(db.sql, id);
      const next = await claimOf(id);
      expect(next).toMatchObject({ attempt, search_attempt: 1 });
      expect(new Date(String(next?.search_since))).toEqual(since);
    }
  });

  test("a lost answer, and the database's clock is set back → the run is searched for all the same", async () => {
    const unanswered = inMinutes(5);
    const { id } = await seedPrediction(db.sql, world, { columns: { lease_token: null }, unanswered });
    expect(new Date(String((await claimOf(id))?.search_since))).toEqual(unanswered);
  });
});

// Once the provider has accepted a run it is paid for: only its end or its deadline gives it up, not failures of ours.

describe.each(["starting", "processing", "storing"] as const)("a %s prediction with many failures", (status) => {
  test("an accepted prediction with very many failures, then one expired lease → tried again, as often as needed", async () => {
    const { id } = await seedPrediction(db.sql, world, { status, columns: { failures: 7 } });
    for (const failures of [8, 9, 10]) {
      const { lease_token } = await readRow(db.sql, id);
      expect(await retryLater(db.sql, id, String(lease_token), { code: "storage_unavailable" })).toBe("later");
      expect(await readRow(db.sql, id)).toMatchObject({ status, failures, last_error: "storage_unavailable" });
      await makeDue(db.sql, id);
      // Its lease was given back, so nobody died over it: handed out, not exhausted.
      expect(await claimOf(id)).toBeDefined();
    }
    await makeDue(db.sql, id);
    await claim(db.sql, 100);
    // One lease ran out: the first in a row.
    expect(await readRow(db.sql, id)).toMatchObject({ status, failures: 1 });
  });

  test("the deadline of an accepted prediction that has often failed → failed, with its run canceled unless it has ended", async () => {
    const columns = { failures: 30, deadline_at: inMinutes(-1) };
    const { id, run } = await seedPrediction(db.sql, world, { status, columns });
    await sweepAndClaim(db.sql);
    expect(await readRow(db.sql, id)).toMatchObject({ status: "failed", error_code: "deadline_exceeded" });
    if (status === "storing") expect(await runsToCancel(db.sql)).not.toContain(run);
    else expect(await runsToCancel(db.sql)).toContain(run);
  });
});

test.each([
  ["a minute before the deadline → 50 minutes more to copy it: the provider keeps it for an hour", "processing", 1, 50],
  ["long before the deadline → the deadline stays", "processing", 59, 59],
  ["a second time → the deadline is not put off again", "storing", 10, 10],
] as const)("an output is ready %s", async (_what, status, before, after) => {
  const { id, run } = await seedPrediction(db.sql, world, { status, columns: { deadline_at: inMinutes(before) } });
  await providerSays(db.sql, { id, run: run ?? "", status: "succeeded" });
  const left = (await readRow(db.sql, id)).deadline_at as Date; // timestamptz columns are read as dates
  expect((left.getTime() - Date.now()) / 60_000).toBeCloseTo(after, 0);
});

test("four lanes, with the newest work in the first → two claims of two tasks reach all four", async () => {
  await db.sql.begin(async (sql) => {
    const lanes = Array.from({ length: 4 }, (_, at) => `00000000-0000-4000-8000-00000000000${at + 1}`);
    for (const lane of [...lanes.slice(1), lanes[0] ?? ""]) {
      await sql`
        insert into keyframe_private.work (queue, kind, subject, owner_id, lane, resource, state, due_at)
        select 'ask', 'poll', gen_random_uuid(), ${lane}, ${lane}, 'cursor', 'ready', now() from generate_series(1, 2)`;
    }
    const worker = crypto.randomUUID();
    let cursors = {};
    const reached: string[] = [];
    for (let claims = 0; claims < 2; claims++) {
      const [row] = await sql<{ lanes: string[]; cursors: object }[]>`
        select array(select w.lane from unnest(l.leased) w) as lanes, l.cursors
        from keyframe_private.lease_work('ask', ${worker}, 2, now(), ${sql.json(cursors)}) l`;
      reached.push(...(row?.lanes ?? []));
      cursors = row?.cursors ?? {};
    }
    expect(reached.toSorted()).toEqual(lanes);
    await sql`delete from keyframe_private.work where resource = 'cursor'`;
  });
});

test("two resources with the same four lanes each, which never get empty → 40 claims of two tasks reach all eight", async () => {
  await db.sql.begin(async (sql) => {
    const lanes = ["2", "6", "a", "e"].map((digit) => `${digit}0000000-0000-4000-8000-000000000000`);
    await sql`
      insert into keyframe_private.work (queue, kind, subject, owner_id, lane, resource, state, due_at)
      select 'ask', 'poll', gen_random_uuid(), l.id, l.id, r.name, 'ready', now()
      from unnest(${lanes}::uuid[]) l (id), unnest('{one,two}'::text[]) r (name), generate_series(1, 40)`;
    let cursors = {};
    const reached = new Set<string>();
    for (let claims = 0; claims < 40; claims++) {
      const [row] = await sql<{ lanes: string[]; cursors: object }[]>`
        select array(select concat(w.resource, w.lane) from unnest(l.leased) w) as lanes, l.cursors
        from keyframe_private.lease_work('ask', ${crypto.randomUUID()}, 2, now(), ${sql.json(cursors)}) l`;
      for (const lane of row?.lanes ?? []) reached.add(lane);
      cursors = row?.cursors ?? {};
    }
    expect(reached.size).toBe(8);
    await sql`delete from keyframe_private.work where resource in ('one', 'two')`;
  });
});

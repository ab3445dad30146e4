import postgres from "postgres";
import { beforeEach, describe, expect, test } from "vitest";
import { DatabaseError } from "../../../shared/platform/call-database.ts";
import { createClaim } from "../../../supabase/functions/keyframe-generate/tasks/claim.ts";
import { claim, complete, readRow, submitsOf, type Task } from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import {
  addWorld,
  type Row,
  seedCopies,
  seedPrediction,
  seedSubmit,
  type World,
} from "../../support/database/predictions.ts";
import { letTimePass as tryAsides, readAsides, withFailing as failing } from "../../support/database/failing.ts";
import { setSettings } from "../../support/database/settings.ts";

// A row that raises costs nobody else a claim. It is set aside with the reason, tried again later each time, and ends.

const db = useDatabase();
let bad: World;
let good: World;
beforeEach(async () => {
  await emptyTables(
    db.sql,
    "keyframe.predictions, keyframe_private.prediction_images, keyframe_private.provider_submits, keyframe_private.file_removals, keyframe_private.set_aside",
  );
  [bad, good] = [await addWorld(db), await addWorld(db)];
});

const ago = (seconds: number) => new Date(Date.now() - seconds * 1000);
const NEW = { attempt: 0, lease_token: null };

const withFailing = <T>(table: string, condition: string, work: () => Promise<T>, does?: string) =>
  failing(db.sql, table, condition, work, does);

type Note = { task: "set_aside"; kind: string; id: string; code: string; failures: number };
const split = (claimed: Task[]) => ({
  tasks: claimed.filter(({ task }) => task !== "set_aside"),
  notes: claimed.filter(({ task }) => task === "set_aside") as unknown as Note[],
});
const asides = () => readAsides(db.sql);
const letTimePass = () => tryAsides(db.sql);

describe("a claim of ten with one prediction that raises", () => {
  const seedTen = async (columns: Row = NEW) => {
    const { id } = await seedPrediction(db.sql, bad, { columns: { ...columns, next_attempt_at: ago(60) } });
    const others: string[] = [];
    for (let count = 0; count < 9; count++) others.push((await seedPrediction(db.sql, good, { columns: NEW })).id);
    return { id, others: others.toSorted() };
  };

  test("by an app's trigger → the nine others are handed out; it is set aside, with its reason and SQLSTATE", async () => {
    const { id, others } = await seedTen();
    await withFailing("keyframe.predictions", `new.id = '${id}'`, async () => {
      const { tasks, notes } = split(await claim(db.sql, 10));
      expect(tasks.map((task) => task.id).toSorted()).toEqual(others);
      expect(notes).toEqual([{ task: "set_aside", kind: "claim", id, code: "P0001", failures: 1 }]);
      const aside = { kind: "claim", subject: id, code: "P0001", reason: "It cannot be written.", failures: 1 };
      expect(await asides()).toEqual([aside]);
      expect(await claim(db.sql, 10)).toEqual([]);
    });
    expect(await readRow(db.sql, id)).toMatchObject({ attempt: 0, lease_token: null });
  });

  test("because its trigger waits for a row that somebody holds → the others are handed out within a second", async () => {
    const { id, others } = await seedTen();
    await db.sql`create table if not exists public.counted (n int)`;
    await db.sql`insert into public.counted values (1)`;
    const waits = "update public.counted set n = n + 1";
    await withFailing(
      "keyframe.predictions",
      `new.id = '${id}'`,
      () =>
        db.sql.begin(async (open) => {
          await open`select from public.counted for update`;
          const { tasks, notes } = split(await claim(db.sql, 10));
          expect(tasks.map((task) => task.id).toSorted()).toEqual(others);
          expect(notes).toMatchObject([{ id, code: "55P03" }]);
        }),
      waits,
    );
  });

  test("and then its cause ends → it is handed out at its next try, and no longer aside", async () => {
    const { id } = await seedTen();
    await withFailing("keyframe.predictions", `new.id = '${id}'`, () => claim(db.sql, 10));
    expect(await claim(db.sql, 10)).toEqual([]);
    await letTimePass();
    expect(await claim(db.sql, 10)).toMatchObject([{ task: "submit", id, attempt: 1 }]);
    expect(await asides()).toEqual([]);
  });

  test("max_failures times → it fails with attempts_exhausted and its cost is released; each try waits longer", async () => {
    const { id } = await seedTen();
    await setSettings(db.sql, { max_failures: 4 });
    const waits: number[] = [];
    await withFailing("keyframe.predictions", `new.id = '${id}' and new.lease_token is not null`, async () => {
      for (let tries = 1; tries <= 4; tries++) {
        await letTimePass();
        expect(split(await claim(db.sql, 10)).notes).toMatchObject([{ id, failures: tries }]);
        const [row] =
          await db.sql`select extract(epoch from next_try_at - now())::float as wait from keyframe_private.set_aside`;
        waits.push(row?.wait);
        await db.sql`select keyframe_private.sweep()`;
        expect((await readRow(db.sql, id)).status).toBe(tries < 4 ? "queued" : "failed");
      }
    });
    expect(waits).toEqual(waits.toSorted((one, next) => one - next));
    expect(waits.at(-1)).toBeGreaterThan(10);
    expect(await readRow(db.sql, id)).toMatchObject({ error_code: "attempts_exhausted", error_retryable: true });
    expect(await submitsOf(db.sql, id)).toMatchObject([{ outcome: "no_run", cost_state: "released" }]);
    expect(await asides()).toEqual([]);
  });

  test("max_failures times, and even its failure raises → it stays aside, tried again later, and others are handed out", async () => {
    const { id } = await seedTen();
    await withFailing("keyframe.predictions", `new.id = '${id}'`, async () => {
      for (let tries = 1; tries <= 10; tries++) {
        await letTimePass();
        await claim(db.sql, 10);
        await db.sql`select keyframe_private.sweep()`;
      }
      expect(await asides()).toMatchObject([
        { kind: "claim", subject: id, failures: 10 },
        { kind: "fail", subject: id },
      ]);
      const next = await seedPrediction(db.sql, good, { columns: NEW });
      expect(split(await claim(db.sql, 10)).tasks).toMatchObject([{ id: next.id }]);
    });
  });

  test("by an assertion in its trigger, which no handler of other errors takes → the others are handed out", async () => {
    const { id, others } = await seedTen();
    const asserts = "assert false, 'It is not right.'";
    await withFailing("keyframe.predictions", `new.id = '${id}'`, async () => {
      const { tasks, notes } = split(await claim(db.sql, 10));
      expect(tasks.map((task) => task.id).toSorted()).toEqual(others);
      expect(notes).toMatchObject([{ id, code: "P0004" }]);
    }, asserts); // biome-ignore format: one line
  });

  test("because a lock is in the way, more than max_failures times → it does not fail; an error beside them counts alone", async () => {
    const { id } = await seedTen();
    await setSettings(db.sql, { max_failures: 2 });
    const tries = async (does: string) => {
      await letTimePass();
      const note = () => claim(db.sql, 10);
      await withFailing("keyframe.predictions", `new.id = '${id}' and new.lease_token is not null`, note, does);
      await db.sql`select keyframe_private.sweep()`;
      return (await readRow(db.sql, id)).status;
    };
    const locked = (code: string) => `raise exception 'Somebody holds it.' using errcode = '${code}'`;
    for (const code of ["55P03", "40001", "40P01"]) expect(await tries(locked(code))).toBe("queued");
    expect(await asides()).toMatchObject([{ subject: id, failures: 3 }]);
    expect([await tries("raise 'It cannot be written.'"), await tries("raise 'It cannot be written.'")]).toEqual([
      "queued",
      "failed",
    ]);
  });

  test("because it was submitted a million times → the others are handed out, and the sweep fails it at once", async () => {
    const { id, others } = await seedTen({ attempt: 1_000_000, lease_token: null });
    await db.sql`
      update keyframe_private.provider_submits set submitted_at = null, ended_at = null, answered_at = null, outcome = null where prediction_id = ${id}`;
    expect((await claim(db.sql, 10)).map((task) => task.id).toSorted()).toEqual(others);
    await db.sql`select keyframe_private.sweep()`;
    expect(await readRow(db.sql, id)).toMatchObject({ status: "failed", error_code: "attempts_exhausted" });
  });
});

describe("ten submits, provider runs to cancel, to search for, or files to remove, of which one raises", () => {
  const SUBMIT = { submitted_at: ago(60) };
  const RUNNING = { ...SUBMIT, answered_at: ago(60) };
  const SEVENTH = crypto.randomUUID();
  const kinds = [
    [
      "submit",
      "keyframe_private.provider_submits",
      `new.prediction_id = '${SEVENTH}'`,
      async (number: number) => {
        const id = number === 7 ? SEVENTH : crypto.randomUUID();
        await seedPrediction(db.sql, good, { columns: { ...NEW, id, next_attempt_at: ago(60 - number) } });
      },
    ],
    [
      "cancel",
      "keyframe_private.provider_submits",
      "new.attempt = 7",
      async (number: number) =>
        seedSubmit(db.sql, {
          ...RUNNING,
          attempt: number,
          provider_prediction_id: `r${number}`,
          cancel_due_at: ago(60 - number),
        }),
    ],
    [
      "search",
      "keyframe_private.provider_submits",
      "new.attempt = 7",
      async (number: number) => seedSubmit(db.sql, { ...SUBMIT, attempt: number, search_due_at: ago(60 - number) }, {}),
    ],
    [
      "remove",
      "keyframe_private.file_removals",
      "new.name = 'file-7'",
      async (number: number) =>
        db.sql`insert into keyframe_private.file_removals (bucket, name, due_at) values ('keyframe-outputs', ${`file-${number}`}, ${ago(60 - number)})`,
    ],
  ] as const;
  test.each(kinds)("%s → nine are handed out, and one is aside", async (kind, table, condition, seed) => {
    for (let number = 1; number <= 10; number++) await seed(number);
    const count = ({ task, files }: Task) => (task === "remove" ? (files as unknown[]).length : 1);
    await withFailing(table, condition, async () => {
      const { tasks, notes } = split(await claim(db.sql, 10));
      expect(tasks.every(({ task }) => task === kind)).toBe(true);
      expect(tasks.reduce((sum, task) => sum + count(task), 0)).toBe(9);
      expect(notes).toMatchObject([{ kind: kind === "submit" ? "claim" : kind, code: "P0001", failures: 1 }]);
      expect(split(await claim(db.sql, 10)).notes).toEqual([]);
    });
    await db.sql`delete from keyframe_private.file_removals where lease_token is not null`;
    await letTimePass();
    expect((await claim(db.sql, 10)).map(({ task }) => task)).toEqual([kind]);
    expect(await asides()).toEqual([]);
  });
});

describe("what goes with a prediction cannot be written", () => {
  test("the events of an overdue and an exhausted one → warned of by their ids, and the others fail", async () => {
    const seedBoth = async (world: World) => {
      const overdue = { deadline_at: ago(60), next_attempt_at: ago(-60) };
      const exhausted = { failures: 20, last_error: "lease_expired" };
      const late = await seedPrediction(db.sql, world, { status: "processing", columns: overdue });
      return [late.id, (await seedPrediction(db.sql, world, { status: "processing", columns: exhausted })).id];
    };
    const [ids, others] = [await seedBoth(bad), await seedBoth(good)];
    const warnings: string[] = [];
    const sql = postgres(db.url, { max: 1, onnotice: ({ message }) => warnings.push(message ?? "") });
    const condition = `new.owner_id = '${bad.owner}'`;
    await withFailing("keyframe.webhook_events", condition, () => sql`select keyframe_private.sweep()`).finally(() => sql.end()); // biome-ignore format: one line
    const statuses = await Promise.all([...ids, ...others].map(async (id) => (await readRow(db.sql, id)).status));
    expect(statuses).toEqual(["processing", "processing", "failed", "failed"]);
    for (const id of ids)
      expect(warnings).toContainEqual(expect.stringMatching(`^Set aside \\(fail\\) ${id}: It cannot be written`));
  });

  test("the next submit of one whose worker died while it submitted → set aside, and others' are claimed", async () => {
    const died = await seedPrediction(db.sql, bad, { columns: { lease_token: null } });
    const other = await seedPrediction(db.sql, good, { columns: { lease_token: null } });
    await withFailing("keyframe_private.provider_submits", `new.owner_id = '${bad.owner}'`, async () => {
      expect(split(await claim(db.sql, 10)).tasks).toMatchObject([{ task: "submit", id: other.id }]);
    });
    expect(await asides()).toMatchObject([{ kind: "resubmit", subject: died.id, code: "P0001" }]);
  });
});

describe("the sweep, with more rows in front that raise than it looks at", () => {
  test.each([
    [
      "overdue",
      { deadline_at: ago(60), next_attempt_at: ago(-60) },
      { deadline_at: ago(1), next_attempt_at: ago(-60) },
    ],
    [
      "exhausted",
      { failures: 20, last_error: "lease_expired", next_attempt_at: ago(60) },
      { failures: 20, last_error: "lease_expired", next_attempt_at: ago(1) },
    ],
  ] as const)(
    "%s predictions → left out and set aside; the next sweep fails those behind them",
    async (_what, first, behind) => {
      const many = await seedPrediction(db.sql, bad, { status: "processing", columns: first });
      await seedCopies(db.sql, many.id, 59);
      const { id } = await seedPrediction(db.sql, good, { status: "processing", columns: behind });
      await withFailing("keyframe.predictions", `new.owner_id = '${bad.owner}'`, async () => {
        for (let sweeps = 0; sweeps < 2; sweeps++) await db.sql`select keyframe_private.fail_overdue(50)`;
      });
      expect((await readRow(db.sql, id)).status).toBe("failed");
      const [row] =
        await db.sql`select count(*)::int as count, min(kind) as kind, min(code) as code from keyframe_private.set_aside`;
      expect(row).toEqual({ count: 60, kind: "fail", code: "P0001" });
      await letTimePass();
      for (let sweeps = 0; sweeps < 2; sweeps++) await db.sql`select keyframe_private.fail_overdue(50)`;
      expect(await asides()).toEqual([]);
      expect(await db.sql`select from keyframe.predictions where completed_at is null`).toHaveLength(0);
    },
  );

  test("owners whose waiting predictions cannot be admitted → set aside by owner; admitted when the cause has ended", async () => {
    const { id } = await seedPrediction(db.sql, bad, { columns: { ...NEW, admitted_at: null, deadline_at: null } });
    await withFailing("keyframe.predictions", `new.id = '${id}'`, () => db.sql`select keyframe_private.sweep()`);
    expect(await asides()).toMatchObject([{ kind: "admit", subject: bad.owner, code: "P0001" }]);
    await letTimePass();
    await db.sql`select keyframe_private.sweep()`;
    expect([(await readRow(db.sql, id)).admitted_at, await asides()]).toEqual([expect.any(Date), []]);
  });
});

describe("a row whose trigger sleeps for longer than a call may take", () => {
  const SLEEPS = "perform pg_sleep(60)";

  /** As the workers and the jobs call: with a time limit. */
  const inTime = async <T>(work: (sql: postgres.TransactionSql) => Promise<T>): Promise<T> =>
    (await db.sql.begin(async (sql) => {
      await sql`set local statement_timeout = '1s'`;
      return { value: await work(sql) };
    })).value as T; // biome-ignore format: one line

  const createWorkerClaim = () =>
    createClaim(async (called, args) => {
      const names = Object.keys(args).map((key, i) => `${key} => $${i + 1}`);
      return await inTime(async (sql) => {
        const rows = await sql.unsafe(
          `select t as task from keyframe_worker.${called}(${names.join(", ")}) t`,
          Object.values(args) as never[],
        );
        return rows.map(({ task }) => task);
      }).catch((error) => {
        throw new DatabaseError(called, 500, error.code);
      });
    });

  test("one of ten predictions to claim → the worker gets the nine others in its next claims; it is set aside, and ends", async () => {
    const { id } = await seedPrediction(db.sql, bad, { columns: { ...NEW, next_attempt_at: ago(60) } });
    const others: string[] = [];
    for (let count = 0; count < 9; count++) others.push((await seedPrediction(db.sql, good, { columns: NEW })).id);
    await setSettings(db.sql, { max_failures: 1 });
    const claimNext = createWorkerClaim();
    const got: string[] = [];
    const notes: unknown[] = [];
    await withFailing(
      "keyframe.predictions",
      `new.id = '${id}'`,
      async () => {
        for (let claims = 0; claims < 5; claims++) {
          const answer = await claimNext(64, () => ({}), 300, 0, 0).catch(() => null);
          got.push(...(answer?.tasks.map((task) => task.id) ?? []));
          notes.push(...(answer?.asides ?? []));
        }
        expect(got.toSorted()).toEqual(others.toSorted());
        expect(notes).toEqual([{ kind: "claim", id, code: "57014", failures: 1 }]);
        await inTime((sql) => sql`select keyframe_private.sweep()`);
        expect((await asides()).map(({ kind, code }) => [kind, code])).toEqual([["claim", "57014"], ["fail", "57014"]]); // biome-ignore format: one line
      },
      SLEEPS,
    );
    await letTimePass();
    await db.sql`select keyframe_private.sweep()`;
    expect(await readRow(db.sql, id)).toMatchObject({ status: "failed", error_code: "attempts_exhausted" });
  });

  test("a prediction that is overdue, and an owner's next one → the sweep does what is behind them, and sets both aside", async () => {
    const overdue = { deadline_at: ago(60), next_attempt_at: ago(-60) };
    const first = await seedPrediction(db.sql, bad, { status: "processing", columns: overdue });
    const behind = await seedPrediction(db.sql, good, { status: "processing", columns: { ...overdue, deadline_at: ago(1) } }); // biome-ignore format: one line
    const waiting = await addWorld(db);
    const next = await seedPrediction(db.sql, waiting, { columns: { ...NEW, admitted_at: null, deadline_at: null } });
    const sleeping = `new.id in ('${first.id}', '${next.id}')`;
    await withFailing(
      "keyframe.predictions",
      sleeping,
      async () => {
        for (let sweeps = 0; sweeps < 3; sweeps++) {
          await inTime((sql) => sql`select keyframe_private.sweep()`);
          await db.sql`update keyframe_private.set_aside set next_try_at = now() + interval '1 hour'`;
        }
      },
      SLEEPS,
    );
    expect((await readRow(db.sql, behind.id)).status).toBe("failed");
    expect(await asides()).toMatchObject([
      { kind: "admit", subject: waiting.owner, code: "57014" },
      { kind: "fail", subject: first.id, code: "57014" },
    ]);
  });

  test("a submit to add after a lost lease → the claim sets it aside, and the next one brings the others", async () => {
    const lost = await seedPrediction(db.sql, bad, { columns: { attempt: 1, next_attempt_at: ago(60) } });
    const other = await seedPrediction(db.sql, good, { columns: NEW });
    await withFailing(
      "keyframe_private.provider_submits",
      `new.prediction_id = '${lost.id}'`,
      async () => {
        await inTime((sql) => claim(sql, 10));
        expect(await asides()).toMatchObject([{ kind: "resubmit", subject: lost.id, code: "57014" }]);
        expect((await inTime((sql) => claim(sql, 10))).map(({ id }) => id)).toEqual([other.id]);
      },
      SLEEPS,
    );
  });

  test("the end of a prediction whose owner's next one sleeps → recorded; the owner is set aside", async () => {
    await setSettings(db.sql, { max_active_per_owner: 1 });
    const { id, lease } = await seedPrediction(db.sql, bad, { status: "storing" });
    const next = await seedPrediction(db.sql, bad, { columns: { ...NEW, admitted_at: null, deadline_at: null } });
    const end = () => inTime((sql) => complete(sql, id, lease));
    await withFailing(
      "keyframe.predictions",
      `new.id = '${next.id}'`,
      async () => expect(await end()).toBe(true),
      SLEEPS,
    );
    expect(await asides()).toMatchObject([{ kind: "admit", subject: bad.owner, code: "57014" }]);
  });

  test("and an administrator cancels the call → it ends, and no row is set aside", async () => {
    const { id } = await seedPrediction(db.sql, bad, { columns: NEW });
    await withFailing(
      "keyframe.predictions",
      `new.id = '${id}'`,
      async () => {
        const calling = db.sql`/* by hand */ select keyframe_worker.claim_predictions(10, 60, one_by_one => true)`.then(
          () => "answered",
          ({ code }) => code,
        );
        await expect
          .poll(
            () => db.sql`
            select pg_cancel_backend(pid) from pg_stat_activity where query like '/* by hand */%' and wait_event = 'PgSleep'`,
          )
          .toHaveLength(1);
        expect([await calling, await asides()]).toEqual(["57014", []]);
      },
      SLEEPS,
    );
  });
});

test("a row that raises while the row of settings is missing → set aside for a minute, and the others are handed out", async () => {
  const { id } = await seedPrediction(db.sql, bad, { columns: { ...NEW, next_attempt_at: ago(60) } });
  const other = await seedPrediction(db.sql, good, { columns: NEW });
  await withFailing("keyframe.predictions", `new.id = '${id}'`, async () => {
    const { tasks } = await db.sql
      .begin(async (sql) => {
        await sql`set local session_replication_role = replica`; // as a restore does
        await sql`delete from keyframe_private.settings`;
        await sql`set local session_replication_role = origin`;
        return Promise.reject(Object.assign(new Error("undone"), { claimed: split(await claim(sql, 10)) }));
      })
      .catch((error) => error.claimed ?? Promise.reject(error));
    expect(tasks.map((task: Task) => task.id)).toEqual([other.id]);
  });
});

test("an owner who cannot be admitted, whom an open transaction has set aside too → the sweep waits for nobody", async () => {
  const { id } = await seedPrediction(db.sql, bad, { columns: { ...NEW, admitted_at: null, deadline_at: null } });
  const other = await seedPrediction(db.sql, good, { columns: { ...NEW, admitted_at: null, deadline_at: null } });
  await withFailing("keyframe.predictions", `new.id = '${id}'`, () =>
    db.sql.begin(async (open) => {
      await open`select keyframe_private.set_aside('admit', ${bad.owner}, 'P0001', 'It cannot be written.')`;
      await db.sql.begin(async (sql) => {
        await sql`set local statement_timeout = '10s'`;
        await sql`select keyframe_private.admit_all_waiting()`;
      });
    }),
  );
  expect((await readRow(db.sql, other.id)).admitted_at).not.toBeNull();
});

test("the end of a prediction whose owner's next one cannot be admitted → recorded; the owner is set aside", async () => {
  await setSettings(db.sql, { max_active_per_owner: 1 });
  const { id, lease } = await seedPrediction(db.sql, bad, { status: "storing" });
  const next = await seedPrediction(db.sql, bad, { columns: { ...NEW, admitted_at: null, deadline_at: null } });
  await withFailing("keyframe.predictions", `new.id = '${next.id}'`, async () => {
    expect(await complete(db.sql, id, lease)).toBe(true);
  });
  expect(await asides()).toMatchObject([{ kind: "admit", subject: bad.owner, code: "P0001" }]);
  await letTimePass();
  await db.sql`select keyframe_private.sweep()`;
  expect([(await readRow(db.sql, next.id)).admitted_at, await asides()]).toEqual([expect.any(Date), []]);
});

test("what is aside → counted by kind, with the oldest, and without what is over", async () => {
  const { id } = await seedPrediction(db.sql, bad, { columns: NEW });
  await withFailing("keyframe.predictions", `new.id = '${id}'`, () => claim(db.sql, 10));
  const figures = async () => (await db.sql`select keyframe_private.aside_figures() as figures`)[0]?.figures;
  const first = { kind: "claim", subject: id, code: "P0001", reason: "It cannot be written.", failures: 1 };
  expect(await figures()).toMatchObject({ count: 1, kinds: { claim: 1 }, oldest: first });
  await db.sql`delete from keyframe.predictions where id = ${id}`;
  await db.sql`update keyframe_private.set_aside set next_try_at = now() - interval '2 hours'`;
  await db.sql`select keyframe_private.prune()`;
  expect(await asides()).toEqual([]);
  expect(await figures()).toMatchObject({ count: 0, kinds: {}, oldest: null });
});

test("due predictions with the longest inputs → a claim brings no more than 256 kB of them, and the next one the rest", async () => {
  const long = { prompt: "€".repeat(4000), negativePrompt: "€".repeat(4000) };
  for (let count = 0; count < 30; count++) await seedPrediction(db.sql, good, { columns: NEW, input: long });
  const [first, second] = [await claim(db.sql, 30), await claim(db.sql, 30)];
  expect(first.length).toBeLessThan(20);
  expect(first.length + second.length).toBeGreaterThan(12);
  const bytes = first.reduce((sum, { input }) => sum + new TextEncoder().encode(JSON.stringify(input)).length, 0);
  expect(bytes).toBeLessThan(256 * 1024);
});

describe("what a claim notes beside its tasks cannot be written → it hands the tasks out", () => {
  const holdTable = async <T>(table: string, work: () => Promise<T>) =>
    await db.sql.begin(async (holder) => {
      await holder.unsafe(`lock table ${table} in share mode`); // as create index does
      return await work();
    });
  const seedBoth = async () => {
    const { id } = await seedPrediction(db.sql, bad, { columns: { ...NEW, next_attempt_at: ago(60) } });
    return { id, other: (await seedPrediction(db.sql, good, { columns: NEW })).id };
  };

  test("a trigger of set_aside fails an assertion → the row that raises is left out without a note", async () => {
    const { id, other } = await seedBoth();
    const fails = "assert false, 'It cannot be written.'";
    const claimed = await withFailing(
      "keyframe.predictions",
      `new.id = '${id}'`,
      () => withFailing("keyframe_private.set_aside", "true", () => claim(db.sql), fails),
      fails,
    );
    expect(split(claimed).tasks.map((task) => task.id)).toEqual([other]);
    expect(split(claimed).notes).toMatchObject([{ id, code: "P0004", failures: 1 }]);
    expect(await asides()).toEqual([]);
  });

  test("somebody holds set_aside → what had been set aside is leased, and its note stays", async () => {
    const { id } = await seedBoth();
    await withFailing("keyframe.predictions", `new.id = '${id}'`, () => claim(db.sql));
    await letTimePass();
    const claimed = await holdTable("keyframe_private.set_aside", () => claim(db.sql));
    expect(claimed.map((task) => task.id)).toEqual([id]);
    expect(await asides()).toMatchObject([{ subject: id }]);
  });

  test("somebody holds worker_heartbeats or kicks, or a trigger of them raises → both are leased", async () => {
    for (const table of ["keyframe_private.worker_heartbeats", "keyframe_private.kicks"]) {
      await seedBoth();
      const claimed = await holdTable(table, () =>
        db.sql.begin(async (sql) => {
          await sql`set local statement_timeout = '4s'`;
          return await claim(sql, 10, 60, 1_000);
        }),
      );
      expect(claimed, table).toHaveLength(2);
    }
    await seedBoth();
    const raised = await withFailing("keyframe_private.worker_heartbeats", "true", () => claim(db.sql, 10, 60, 1_000));
    expect(raised).toHaveLength(2);
  });
});

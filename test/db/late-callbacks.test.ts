import { afterEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import {
  claim,
  makeDue,
  providerSays,
  readRow,
  runsToCancel,
  type Saying,
  submitsOf,
} from "../support/database/calls.ts";
import { useWorld, seedPrediction } from "../support/database/predictions.ts";

const db = useDatabase();
const world = useWorld(db);
afterEach(async () => {
  await db.sql`truncate keyframe_private.provider_submits`;
});

const newRun = () => `run-${crypto.randomUUID()}`;

test("a callback that comes before the submit's answer moves the prediction on, and the answer then changes nothing", async () => {
  const { id } = await seedPrediction(db.sql, world, { status: "queued" });
  const run = newRun();
  expect(await providerSays(db.sql, { id, run, status: "processing", progress: 0.2 })).toBe("recorded");
  expect(await providerSays(db.sql, { id, run, status: "starting" })).toBe("unchanged");
  expect(await readRow(db.sql, id)).toMatchObject({
    status: "processing",
    provider_prediction_id: run,
    lease_token: null,
  });
  expect(await runsToCancel(db.sql)).toEqual([]);
});

test("less progress than known, or none → unchanged; more → recorded", async () => {
  const { id, run } = await seedPrediction(db.sql, world, { status: "processing", columns: { progress: 0.5 } });
  const says = (progress: number | null) => providerSays(db.sql, { id, run: run ?? "", progress });
  expect(await says(0.4)).toBe("unchanged");
  expect(await says(null)).toBe("unchanged");
  expect((await readRow(db.sql, id)).progress).toBe(0.5);
  expect(await says(0.75)).toBe("recorded");
  expect((await readRow(db.sql, id)).progress).toBe(0.75);
});

test("the same callback again, 10 times at once and once it has failed → recorded once, then nothing changes", async () => {
  const { id, run } = await seedPrediction(db.sql, world, { status: "starting" });
  const says = (more: Partial<Saying> = {}) => providerSays(db.sql, { id, run: run ?? "", progress: 0.3, ...more });
  const answers = await Promise.all(Array.from({ length: 10 }, () => says()));
  expect(answers.sort()).toEqual(["recorded", ...Array<string>(9).fill("unchanged")]);
  const failed = { status: "failed", metrics: { predict_time: 1 } };
  expect(await says(failed)).toBe("recorded");
  const before = [await readRow(db.sql, id), await submitsOf(db.sql, id)];
  for (const more of [failed, {}]) expect(await says(more)).toBe("ended");
  expect([await readRow(db.sql, id), await submitsOf(db.sql, id)]).toEqual(before);
});

describe("a callback that says nothing new", () => {
  const SAID = [
    ["starting", { status: "starting" }],
    ["processing", { status: "starting" }],
    ["processing", { status: "processing", progress: 0.5 }],
    ["processing", { status: "processing", progress: null }],
    ["storing", { status: "starting" }],
    ["storing", { status: "processing", progress: 0.9 }],
    ["storing", { status: "succeeded", outputUrl: null }],
    ["storing", { status: "failed" }],
  ] as const;
  test.each(SAID)("%s, then %j → unchanged: it writes nothing, and waits for no lock", async (status, said) => {
    const { id, run } = await seedPrediction(db.sql, world, { status, columns: { progress: 0.5 } });
    await db.sql.begin(async (holder) => {
      await holder`select from keyframe.predictions where id = ${id} for update`;
      await db.sql.begin(async (sql) => {
        expect(await providerSays(sql, { id, run: run ?? "", ...said })).toBe("unchanged");
        const [row] = await sql`select pg_current_xact_id_if_assigned() is not null as written`;
        expect(row?.written).toBe(false);
      });
    });
  });
});

describe("a callback about another attempt", () => {
  test("an earlier one, while nothing is followed → its run is adopted, and the later submit's run is stale and cancelled", async () => {
    const { id } = await seedPrediction(db.sql, world, { status: "queued", columns: { attempt: 2 } });
    expect(await providerSays(db.sql, { id, attempt: 1, run: "run-of-1", status: "starting" })).toBe("recorded");
    expect((await readRow(db.sql, id)).provider_prediction_id).toBe("run-of-1");
    expect(await providerSays(db.sql, { id, attempt: 2, run: "run-of-2", status: "starting" })).toBe("stale");
    expect(await runsToCancel(db.sql)).toEqual(["run-of-2"]);
  });

  test("an earlier one, while another run is followed → stale, its run is cancelled, the prediction goes on", async () => {
    const { id, run } = await seedPrediction(db.sql, world, { status: "processing", columns: { attempt: 2 } });
    expect(await providerSays(db.sql, { id, attempt: 1, run: "run-old" })).toBe("stale");
    expect(await runsToCancel(db.sql)).toEqual(["run-old"]);
    expect(await readRow(db.sql, id)).toMatchObject({ status: "processing", provider_prediction_id: run });
  });

  test("another run that is over already → stale, and there is nothing to cancel", async () => {
    const { id } = await seedPrediction(db.sql, world, { status: "processing", columns: { attempt: 2 } });
    for (const status of ["succeeded", "failed", "canceled", "aborted"]) {
      expect(await providerSays(db.sql, { id, attempt: 1, run: newRun(), status })).toBe("stale");
    }
    expect(await runsToCancel(db.sql)).toEqual([]);
    expect((await readRow(db.sql, id)).status).toBe("processing");
  });

  test.each([0, 2, -1])("attempt %i, which never was → unknown, and nothing is kept of it", async (attempt) => {
    const { id, run } = await seedPrediction(db.sql, world, { status: "starting" });
    expect(await providerSays(db.sql, { id, attempt, run: "run-never" })).toBe("unknown");
    // Nor is what its own run is known to do.
    expect(await providerSays(db.sql, { id, attempt, run: run ?? "", status: "starting" })).toBe("unknown");
    expect((await submitsOf(db.sql, id)).map(({ provider_prediction_id }) => provider_prediction_id)).toEqual([run]);
  });
});

test("a run that belongs to another prediction → unknown, and neither prediction moves", async () => {
  const { run } = await seedPrediction(db.sql, world, { status: "starting" });
  const other = await seedPrediction(db.sql, world, { status: "queued" });
  expect(await providerSays(db.sql, { id: other.id, run: run ?? "", status: "succeeded" })).toBe("unknown");
  expect((await readRow(db.sql, other.id)).status).toBe("queued");
});

describe("a run that failed because it could not read the images", () => {
  const unreachable = { status: "failed", failure: "input_unreachable" as const };
  const seedFailed = async () => {
    const seeded = await seedPrediction(db.sql, world, { status: "processing", columns: { progress: 0.5 } });
    const saying = { id: seeded.id, run: seeded.run ?? "" };
    expect(await providerSays(db.sql, { ...saying, ...unreachable })).toBe("recorded");
    return saying;
  };
  const submitAgain = async (id: string) => {
    await makeDue(db.sql, id);
    return (await claim(db.sql, 100)).find((task) => task.id === id);
  };

  test("→ queued again after a back-off, as a failure; the next claim submits it, with nothing to search for", async () => {
    const { id } = await seedFailed();
    expect(await readRow(db.sql, id)).toMatchObject({
      ...{ status: "queued", provider_prediction_id: null, lease_token: null },
      ...{ attempt: 1, failures: 1, retry_reason: "input_unreachable", progress: 0.5, started_at: expect.any(Date) },
    });
    const [wait] = await db.sql`
      select extract(epoch from next_attempt_at - updated_at)::float as seconds from keyframe.predictions where id = ${id}`;
    expect(wait?.seconds).toBeGreaterThan(1);
    expect(await submitAgain(id)).toMatchObject({ task: "submit", attempt: 2, search_since: null });
  });

  test("its late and doubled callbacks, before the next run and after it → change nothing, and nothing is cancelled", async () => {
    const saying = await seedFailed();
    const before = await readRow(db.sql, saying.id);
    const late = ["starting", "processing", "failed", "succeeded"];
    for (const status of late) {
      expect(await providerSays(db.sql, { ...saying, status })).toBe("given_up");
    }
    expect(await providerSays(db.sql, { ...saying, ...unreachable, foundBy: "name" })).toBe("given_up");
    expect(await readRow(db.sql, saying.id)).toEqual(before);
    expect(await runsToCancel(db.sql)).toEqual([]);

    await submitAgain(saying.id);
    const run = newRun();
    expect(await providerSays(db.sql, { id: saying.id, attempt: 2, run, status: "starting" })).toBe("recorded");
    expect(await providerSays(db.sql, { ...saying, ...unreachable })).toBe("stale");
    // Its status in the API was processing, and does not go back.
    expect(await readRow(db.sql, saying.id)).toMatchObject({ status: "processing", provider_prediction_id: run });
  });

  test("before the answer to its submit is recorded → that answer changes nothing", async () => {
    const { id } = await seedPrediction(db.sql, world, { status: "queued" });
    const run = newRun();
    expect(await providerSays(db.sql, { id, run, ...unreachable })).toBe("recorded");
    expect(await providerSays(db.sql, { id, run, status: "starting" })).toBe("given_up");
    expect(await readRow(db.sql, id)).toMatchObject({ status: "queued", retry_reason: "input_unreachable" });
  });

  test("cancelled before the next submit → no run to cancel", async () => {
    const { id } = await seedFailed();
    await db.sql`select keyframe_private.mark_canceled(${id})`;
    expect(await runsToCancel(db.sql)).toEqual([]);
  });

  test("max_failures times → failed: every run may cost money", async () => {
    await db.sql`update keyframe_private.settings set max_failures = 3`;
    const { id } = await seedFailed();
    for (const attempt of [2, 3]) {
      await submitAgain(id);
      const run = newRun();
      await providerSays(db.sql, { id, attempt, run, status: "processing" });
      expect((await readRow(db.sql, id)).failures).toBe(0);
      expect(await providerSays(db.sql, { id, attempt, run, ...unreachable })).toBe("recorded");
    }
    expect(await readRow(db.sql, id)).toMatchObject({
      status: "failed",
      error_code: "input_unreachable",
      error_retryable: true,
    });
    expect(await runsToCancel(db.sql)).toEqual([]);
    await db.sql`update keyframe_private.settings set max_failures = default`;
  });
});

const interrupted = {
  status: "failed",
  failure: "interrupted" as const,
  error: "Director: unexpected error (E9828)",
};

test("a run that was interrupted at the provider → queued again, and submitted once more; the second one that is interrupted → failed as the provider says, retryable", async () => {
  const { id, run } = await seedPrediction(db.sql, world, { status: "processing" });
  expect(await providerSays(db.sql, { id, run: run ?? "", ...interrupted })).toBe("recorded");
  expect(await readRow(db.sql, id)).toMatchObject({ status: "queued", retry_reason: "provider_failed" });
  await makeDue(db.sql, id);
  expect((await claim(db.sql, 100)).find((task) => task.id === id)).toMatchObject({ task: "submit", attempt: 2 });
  expect(await providerSays(db.sql, { id, attempt: 2, run: newRun(), ...interrupted })).toBe("recorded");
  expect(await readRow(db.sql, id)).toMatchObject({
    ...{ status: "failed", error_code: "provider_failed", error_message: interrupted.error, error_retryable: true },
    error_stage: null,
  });
  expect(await runsToCancel(db.sql)).toEqual([]);
});

test.each(["input", "output", null] as const)(
  "a run whose content was rejected, stage %s → failed at once with that stage, not retryable, nothing to cancel",
  async (stage) => {
    const { id, run } = await seedPrediction(db.sql, world, { status: "processing" });
    const rejected = { status: "failed", failure: "content_rejected" as const, stage, error: "Change the prompt." };
    expect(await providerSays(db.sql, { id, run: run ?? "", ...rejected })).toBe("recorded");
    expect(await readRow(db.sql, id)).toMatchObject({
      ...{ status: "failed", error_code: "content_rejected", error_message: "Change the prompt." },
      ...{ error_retryable: false, error_stage: stage },
    });
    expect(await runsToCancel(db.sql)).toEqual([]);
  },
);

describe("after the end", () => {
  test.each(["failed", "canceled"] as const)(
    "a %s prediction whose submit is answered late → ended, the run is cancelled",
    async (status) => {
      const { id } = await seedPrediction(db.sql, world, { status, columns: { provider_prediction_id: null } });
      expect(await providerSays(db.sql, { id, run: "run-late", status: "starting" })).toBe("ended");
      expect(await runsToCancel(db.sql)).toEqual(["run-late"]);
      expect((await readRow(db.sql, id)).status).toBe(status);
    },
  );

  test("a canceled prediction whose run has ended meanwhile → ended, nothing to cancel any more", async () => {
    const { id, run } = await seedPrediction(db.sql, world, { status: "processing" });
    await db.sql`select keyframe_private.mark_canceled(${id})`;
    expect(await runsToCancel(db.sql)).toEqual([run]);
    expect(await providerSays(db.sql, { id, run: run ?? "", status: "canceled" })).toBe("ended");
    expect(await runsToCancel(db.sql)).toEqual([]);
  });

  test("another run turns up → ended, and it is cancelled unless it is over", async () => {
    const { id } = await seedPrediction(db.sql, world, { status: "succeeded", columns: { attempt: 2 } });
    expect(await providerSays(db.sql, { id, run: "run-other", status: "processing" })).toBe("ended");
    expect(await providerSays(db.sql, { id, run: "run-over", status: "failed" })).toBe("ended");
    expect(await runsToCancel(db.sql)).toEqual(["run-other"]);
  });
});

describe("a prediction that ends before its run does", () => {
  test.each([
    ["failed", "provider_failed"],
    ["canceled", "provider_canceled"],
    ["aborted", "provider_aborted"],
    ["succeeded", "provider_no_output"],
  ])("the provider itself said %s (%s) → nothing to cancel", async (status, code) => {
    const { id, run } = await seedPrediction(db.sql, world, { status: "processing" });
    await providerSays(db.sql, { id, run: run ?? "", status, outputUrl: null });
    expect(await readRow(db.sql, id)).toMatchObject({ status: "failed", error_code: code, error_retryable: true });
    expect(await runsToCancel(db.sql)).toEqual([]);
  });
});

describe("asking the provider to cancel a run", () => {
  const recordNotCanceled = async (run: string, isUnknown = false) => {
    const [row] = await db.sql`select keyframe_worker.record_run_not_canceled(${run}, ${isUnknown}) as found`;
    return row?.found;
  };
  const outcomeOf = async (run: string) => {
    const [row] =
      await db.sql`select outcome from keyframe_private.provider_submits where provider_prediction_id = ${run}`;
    return row?.outcome;
  };

  test.each(["canceled", "succeeded", "failed", "aborted"])(
    "it is %s → recorded, and not asked again",
    async (status) => {
      const { id } = await seedPrediction(db.sql, world, { status: "canceled" });
      await providerSays(db.sql, { id, run: "run-a", status: "starting" });
      expect(await outcomeOf("run-a")).toBeNull();
      const metrics = { predict_time: 1.5, resolution_target: "720p", with_audio: false };
      expect(await providerSays(db.sql, { id, run: "run-a", status, metrics })).toBe("ended");
      expect(await runsToCancel(db.sql)).toEqual([]);
      expect(await recordNotCanceled("run-a")).toBe(false);
      // What is said later does not change it.
      await providerSays(db.sql, {
        id,
        run: "run-a",
        status: "failed",
        metrics: { predict_time: 9 },
      });
      const [submit] =
        await db.sql`select outcome, metrics from keyframe_private.provider_submits where provider_prediction_id = 'run-a'`;
      expect(submit).toEqual({ outcome: status, metrics });
    },
  );

  test("the provider does not know it any more → lost, and not asked again", async () => {
    const { id } = await seedPrediction(db.sql, world, { status: "canceled" });
    await providerSays(db.sql, { id, run: "run-d", status: "starting" });
    expect(await recordNotCanceled("run-d", true)).toBe(true);
    expect([await outcomeOf("run-d"), await runsToCancel(db.sql)]).toEqual(["lost", []]);
  });

  test("did not work → asked again after 10 s, 20 s, up to five minutes, for a day", async () => {
    const { id } = await seedPrediction(db.sql, world, { status: "canceled" });
    await providerSays(db.sql, { id, run: "run-b", status: "starting" });
    for (let time = 1; time <= 40; time++) {
      expect(await recordNotCanceled("run-b")).toBe(true);
      const [row] =
        await db.sql`select extract(epoch from cancel_due_at - now())::int as wait from keyframe_private.provider_submits where provider_prediction_id = 'run-b'`;
      const wait = Math.min(time * 10, 300);
      expect(row?.wait).toBeGreaterThan(wait - 3);
      expect(row?.wait).toBeLessThanOrEqual(wait);
    }
    await db.sql`update keyframe_private.provider_submits set answered_at = now() - interval '25 hours' where provider_prediction_id = 'run-b'`;
    await recordNotCanceled("run-b");
    expect([await outcomeOf("run-b"), await runsToCancel(db.sql)]).toEqual(["lost", []]);
  });

  test("is handed out by a claim as a task, and again once that lease ran out", async () => {
    const { id } = await seedPrediction(db.sql, world, { status: "canceled" });
    await providerSays(db.sql, { id, run: "run-c", status: "starting" });
    const cancels = async () => (await claim(db.sql)).filter(({ task }) => task === "cancel");
    expect(await cancels()).toEqual([{ task: "cancel", id, provider_prediction_id: "run-c", attempt: 1 }]);
    expect(await cancels()).toEqual([]);
    await db.sql`update keyframe_private.provider_submits set cancel_due_at = now() - interval '1 second' where provider_prediction_id = 'run-c'`;
    expect((await cancels()).length).toBe(1);
  });
});

import postgres, { type Sql, type TransactionSql } from "postgres";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { setSettings } from "../../support/database/settings.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { clearPredictions } from "../../support/database/empty-tables.ts";
import {
  callWorker,
  claim,
  makeDue,
  providerSays,
  readRow,
  runsToCancel,
  type Saying,
  submitsOf,
  workOf,
} from "../../support/database/calls.ts";
import { columnOf, seedPrediction, seedSubmit, type Status, useWorld } from "../../support/database/predictions.ts";
import { letWait, whileOpen } from "../../support/database/waiting.ts";

const db = useDatabase();
const world = useWorld(db);
afterEach(() => clearPredictions(db.sql));

const newRun = () => `run-${crypto.randomUUID()}`;

test("progress of a prediction's run → its commit does not wait for the disk; a new run and an end do", async () => {
  const { id, run } = await seedPrediction(db.sql, world, { status: "starting" });
  const { id: queued } = await seedPrediction(db.sql, world, { status: "queued" });
  const waits = (saying: Saying) =>
    db.sql.begin(async (sql) => {
      expect(await providerSays(sql, saying)).toBe("recorded");
      const [row] = await sql<{ waits: string }[]>`select current_setting('synchronous_commit') as waits`;
      return row?.waits;
    });
  const said = { id, run: run ?? "" };
  expect(await waits({ ...said, progress: 0.1 })).toBe("off");
  expect(await waits({ ...said, status: "succeeded" })).toBe("on");
  expect(await waits({ id: queued, run: newRun() })).toBe("on");
});

test("a run is reported as starting twice at once → the prediction is starting", async () => {
  const { id } = await seedPrediction(db.sql, world, { status: "queued" });
  const said = { id, run: newRun(), status: "starting" };
  await letWait(db.sql, "report_run");
  const second = await whileOpen(
    db.sql,
    (open) => providerSays(open, said),
    () => providerSays(db.sql, said),
  );
  expect([second, (await readRow(db.sql, id)).status]).toEqual(["unchanged", "starting"]);
});

test("progress that also reports a submit without a run → its commit waits for the disk: money is released", async () => {
  const { id, run } = await seedPrediction(db.sql, world, { status: "starting", columns: { attempt: 2 } });
  const { owner: owner_id, project: project_id } = world;
  await seedSubmit(db.sql, { owner_id, project_id, prediction_id: id, attempt: 1, submitted_at: new Date() });
  await db.sql.begin(async (sql) => {
    const said = { id, attempt: 2, run: run ?? "", progress: 0.1, attemptWithoutRun: 1 };
    expect(await providerSays(sql, said)).toBe("recorded");
    const [row] = await sql`select current_setting('synchronous_commit') as waits`;
    expect([row?.waits, (await submitsOf(sql, id))[0]?.cost_state]).toEqual(["on", "released"]);
  });
});

test.each([
  ["starting", { status: "starting" }],
  ["processing", { status: "starting" }],
  ["processing", { status: "processing", progress: 0.4 }],
  ["processing", { status: "processing", progress: 0.5 }],
  ["processing", { status: "processing", progress: null }],
  ["storing", { status: "starting" }],
  ["storing", { status: "processing", progress: 0.9 }],
  ["storing", { status: "succeeded", outputUrl: null }],
  ["storing", { status: "failed" }],
] as const)(
  "a callback for a %s prediction that says %j → unchanged, without a write or a lock",
  async (status, said) => {
    const { id, run } = await seedPrediction(db.sql, world, { status, columns: { progress: 0.5 } });
    await db.sql.begin(async (holder) => {
      await holder`select from keyframe.predictions where id = ${id} for update`;
      await db.sql.begin(async (sql) => {
        expect(await providerSays(sql, { id, run: run ?? "", ...said })).toBe("unchanged");
        expect(await columnOf(sql`select pg_current_xact_id_if_assigned()`)).toEqual([null]);
      });
    });
  },
);

const FOLLOWED = "run-followed";
const failed = (error_code: string, more: object = {}) => ({
  ...{ status: "failed", error_code, error_retryable: true, error_stage: null, ...more },
});
const rejected = { status: "failed", failure: "content_rejected", error: "Change the prompt." } as const;
/** What is said of runs of a prediction in its second attempt, and the answers; what it is then, and which runs are to be canceled. */
type Case = [what: string, of: Status, said: [answer: string, Partial<Saying>][], row: object, canceled?: string[]];
const OVER = ["succeeded", "failed", "canceled"] as const;
test.each<Case>([
  [
    "a run of an earlier attempt, while none is followed → followed; then that of the later one is stale",
    "queued",
    [
      ["recorded", { run: "run-1", status: "starting" }],
      ["stale", { run: "run-2", status: "starting", attempt: 2 }],
    ],
    { status: "starting", provider_prediction_id: "run-1" },
    ["run-2"],
  ],
  [
    "another run, while one is followed → stale and canceled, unless it is over",
    "processing",
    ["processing", ...OVER, "aborted"].map((status) => ["stale", { run: `run-${status}`, status }]),
    { status: "processing", provider_prediction_id: FOLLOWED },
    ["run-processing"],
  ],
  ...OVER.map((of): Case => {
    const runs: Case[2] = [
      ["ended", { run: "run-late", status: "starting" }],
      ["ended", { run: "run-over", status: "failed" }],
    ];
    return [
      `another run of one that has ${of}, such as a late answer → canceled, unless it is over`,
      of,
      runs,
      { status: of },
      ["run-late"],
    ];
  }),
  ...["failed", "canceled", "aborted"].map(
    (status): Case => [
      `its run is ${status} → so it says`,
      "processing",
      [["recorded", { status }]],
      failed(`provider_${status}`),
    ],
  ),
  [
    "its run has no output → failed",
    "processing",
    [["recorded", { status: "succeeded", outputUrl: null }]],
    failed("provider_no_output"),
  ],
  ...(["input", "output", null] as const).map((error_stage): Case => {
    const row = failed("content_rejected", { error_message: rejected.error, error_retryable: false, error_stage });
    const said: Case[2] = [["recorded", { ...rejected, stage: error_stage }]];
    return [
      `its content is rejected, stage ${error_stage} → failed with that stage, and not retryable`,
      "processing",
      said,
      row,
    ];
  }),
])("the provider reports a run: %s", async (_what, of, said, row, canceled = []) => {
  const columns = { attempt: 2, ...(of === "queued" ? {} : { provider_prediction_id: FOLLOWED }) };
  const { id } = await seedPrediction(db.sql, world, { status: of, columns });
  for (const [answer, saying] of said)
    expect(await providerSays(db.sql, { id, run: FOLLOWED, ...saying })).toBe(answer);
  expect(await readRow(db.sql, id)).toMatchObject(row);
  expect(await runsToCancel(db.sql)).toEqual(canceled);
  expect((await workOf(db.sql, id)).filter(({ kind }) => kind === "cancel")).toHaveLength(canceled.length);
});

test.each([0, 2, -1])(
  "a callback for attempt %i, which never existed → unknown, and nothing is stored",
  async (attempt) => {
    const { id, run } = await seedPrediction(db.sql, world, { status: "starting" });
    for (const said of ["run-never", run ?? ""])
      expect(await providerSays(db.sql, { id, attempt, run: said, status: "starting" })).toBe("unknown");
    expect((await submitsOf(db.sql, id)).map(({ provider_prediction_id }) => provider_prediction_id)).toEqual([run]);
  },
);

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

  test("a run could not read the images → queued again after a back-off, as a failure; submitted with nothing to search for", async () => {
    const { id } = await seedFailed();
    expect(await readRow(db.sql, id)).toMatchObject({
      ...{ status: "queued", provider_prediction_id: null, lease_token: null },
      ...{ attempt: 1, failures: 1, last_error: "input_unreachable", progress: 0.5, started_at: expect.any(Date) },
    });
    const { due_at, updated_at } = await readRow(db.sql, id);
    expect(Number(due_at) - Number(updated_at)).toBeGreaterThan(1_000);
    expect(await submitAgain(id)).toMatchObject({ task: "submit", attempt: 2, search_since: null });
  });

  test("late and duplicate callbacks of a run that could not read the images → change nothing, and nothing is canceled", async () => {
    const saying = await seedFailed();
    const before = await readRow(db.sql, saying.id);
    for (const status of ["starting", "processing", "failed", "succeeded"])
      expect(await providerSays(db.sql, { ...saying, status })).toBe("replaced");
    expect(await providerSays(db.sql, { ...saying, ...unreachable, foundBy: "name" })).toBe("replaced");
    expect(await readRow(db.sql, saying.id)).toEqual(before);
    expect(await runsToCancel(db.sql)).toEqual([]);

    await submitAgain(saying.id);
    const run = newRun();
    expect(await providerSays(db.sql, { id: saying.id, attempt: 2, run, status: "starting" })).toBe("recorded");
    expect(await providerSays(db.sql, { ...saying, ...unreachable })).toBe("stale");
    // Its status in the API was processing, and does not go back, nor does its progress.
    const now = { status: "processing", provider_prediction_id: run, progress: 0.5 };
    expect(await readRow(db.sql, saying.id)).toMatchObject(now);
  });

  test("a prediction is canceled between a failed run and its next submit → there is no run to cancel", async () => {
    const { id } = await seedFailed();
    await db.sql`select keyframe_private.mark_canceled(${id})`;
    expect(await runsToCancel(db.sql)).toEqual([]);
  });

  test("a run cannot read the images max_failures times → the prediction fails, since every run may cost money", async () => {
    await setSettings(db.sql, { max_failures: 3 });
    const { id } = await seedFailed();
    for (const attempt of [2, 3]) {
      await submitAgain(id);
      const run = newRun();
      await providerSays(db.sql, { id, attempt, run, status: "processing" });
      expect((await readRow(db.sql, id)).failures).toBe(0);
      expect(await providerSays(db.sql, { id, attempt, run, ...unreachable })).toBe("recorded");
    }
    expect(await readRow(db.sql, id)).toMatchObject(failed("input_unreachable"));
    expect(await runsToCancel(db.sql)).toEqual([]);
  });
});

const interrupted = { status: "failed", failure: "interrupted", error: "Director: unexpected error (E9828)" } as const;

test("a run is interrupted → submitted once more; interrupted again → failed, retryable", async () => {
  const { id, run } = await seedPrediction(db.sql, world, { status: "processing", columns: { attempt: 2 } });
  const refused = { submitted_at: new Date(), answered_at: new Date(), ended_at: new Date(), outcome: "no_run" };
  await seedSubmit(db.sql, {
    owner_id: world.owner,
    project_id: world.project,
    prediction_id: id,
    attempt: 1,
    ...refused,
  });
  expect(await providerSays(db.sql, { id, attempt: 2, run: run ?? "", ...interrupted })).toBe("recorded");
  expect(await readRow(db.sql, id)).toMatchObject({ status: "queued", last_error: "provider_failed" });
  await makeDue(db.sql, id);
  expect((await claim(db.sql, 100)).find((task) => task.id === id)).toMatchObject({ task: "submit", attempt: 3 });
  expect(await providerSays(db.sql, { id, attempt: 3, run: newRun(), ...interrupted })).toBe("recorded");
  expect(await readRow(db.sql, id)).toMatchObject(failed("provider_failed", { error_message: interrupted.error }));
  expect(await runsToCancel(db.sql)).toEqual([]);
});

describe("an open transaction with a recorded run", () => {
  beforeEach(() => letWait(db.sql, "report_run"));

  test.each<[of: Status, first: Partial<Saying>, then: Partial<Saying>, answer: string, status: Status]>([
    ["starting", { progress: 0.7 }, { progress: 0.5 }, "unchanged", "processing"],
    ["processing", { status: "succeeded" }, { status: "failed" }, "unchanged", "storing"],
    ["processing", { status: "failed" }, { status: "succeeded" }, "ended", "failed"],
    ["processing", interrupted, interrupted, "replaced", "queued"],
  ])("%s: %j, and meanwhile %j arrives → the second waits, then %s: %s", async (of, first, then, answer, status) => {
    const { id, run } = await seedPrediction(db.sql, world, { status: of });
    const says = (sql: TransactionSql | Sql, said: Partial<Saying>) =>
      providerSays(sql, { id, run: run ?? "", ...said });
    const waited = whileOpen(db.sql, (open) => says(open, first), () => says(db.sql, then)); // biome-ignore format: one line
    expect(await waited).toBe(answer);
    expect((await readRow(db.sql, id)).status).toBe(status);
  });

  test("a run is recorded in an open transaction, and another prediction names the run → unknown", async () => {
    const [one, other] = [await seedPrediction(db.sql, world), await seedPrediction(db.sql, world)];
    const says = (sql: TransactionSql | Sql, id: string) =>
      providerSays(sql, { id, run: "run-of-one", status: "starting" });
    const said = whileOpen(db.sql, (open) => says(open, one.id), () => says(db.sql, other.id)); // biome-ignore format: one line
    expect(await said).toBe("unknown");
    expect((await readRow(db.sql, other.id)).status).toBe("queued");
  });
});

describe("a cancel of a run at the provider", () => {
  let id: string;
  const run = "run-late";
  beforeEach(async () => {
    ({ id } = await seedPrediction(db.sql, world, { status: "canceled", columns: { provider_prediction_id: null } }));
    expect(await providerSays(db.sql, { id, run, status: "starting" })).toBe("ended");
    await db.sql`delete from keyframe_private.provider_submits where provider_prediction_id is null`;
  });
  const cancels = async () => (await claim(db.sql)).filter(({ task }) => task === "cancel");
  /** The request to cancel did not end the run. */
  const recordNotCanceled = async (isUnknown = false) => {
    const [task] = await cancels();
    const lease = { work_id: task?.work_id, lease_token: task?.lease_token };
    await callWorker(db.sql, "record_run_not_canceled", { ...lease, is_unknown: isUnknown });
  };
  const submit = async () => (await submitsOf(db.sql, id))[0];

  test.each(["canceled", "succeeded", "failed", "aborted"])(
    "a run to cancel turns out to be %s → recorded, and its cancel is not tried again",
    async (status) => {
      const metrics = { predict_time: 1.5, resolution_target: "720p", with_audio: false };
      expect(await providerSays(db.sql, { id, run, status, metrics })).toBe("ended");
      expect(await cancels()).toEqual([]);
      // What is said later does not change it.
      await providerSays(db.sql, { id, run, status: "failed", metrics: { predict_time: 9 } });
      expect(await submit()).toMatchObject({ outcome: status, metrics });
    },
  );

  test("the provider no longer knows a run to cancel → lost, and not tried again; a later callback with its end counts", async () => {
    await recordNotCanceled(true);
    expect(await submit()).toMatchObject({ outcome: "lost" });
    expect(await workOf(db.sql, id)).toEqual([]);
    await providerSays(db.sql, { id, run, status: "succeeded" });
    expect(await submit()).toMatchObject({ outcome: "succeeded" });
  });

  test("a cancel of a run fails → tried again after 10 s, 20 s, up to five minutes, for a day", async () => {
    for (let time = 1; time <= 40; time++) {
      await recordNotCanceled();
      const [wait = 0] = await columnOf<number>(db.sql`
        select extract(epoch from due_at - now())::int from keyframe_private.work where subject = ${id}`);
      await makeDue(db.sql, id);
      const most = Math.min(time * 10, 300);
      expect([wait, wait > most - 3 && wait <= most]).toEqual([wait, true]);
    }
    await db.sql`update keyframe_private.provider_submits set answered_at = now() - interval '25 hours'`;
    await recordNotCanceled();
    expect(await submit()).toMatchObject({ outcome: "lost" });
  });

  test("a run to cancel → one cancel task, whatever callbacks say, and once more after its lease", async () => {
    await providerSays(db.sql, { id, run, status: "processing" });
    expect(await cancels()).toMatchObject([{ task: "cancel", id, provider_prediction_id: run, attempt: 1 }]);
    expect(await cancels()).toEqual([]);
    await makeDue(db.sql, id);
    expect((await cancels()).length).toBe(1);
  });
});

/** Paths of files; a path without an ending in its address stands for `path=ending`. */
const files = (...named: string[]) =>
  named.map((one) => {
    const [at = "", ending = "png"] = one.split("=");
    return { at, url: `https://replicate.delivery/${at}${ending === "" ? "" : `.${ending}`}?token=a.txt` };
  });
/** A prediction whose run succeeds with these files, as it is then. */
async function finishWith(outputFiles: ReturnType<typeof files>, sql = db.sql) {
  const { id, run } = await seedPrediction(sql, world, { status: "processing" });
  const said = { id, run: run ?? "", status: "succeeded", outputUrl: null, outputFiles };
  expect(await providerSays(sql, said)).toBe("recorded");
  return await readRow(sql, id);
}

test.each<[output: string[], row: string | null, found: string | null]>([
  [["image"], null, "image"],
  [["images[0]", "images[1]"], null, "images[0]"],
  [["[0][0]", "[1][0]"], null, "[0][0]"],
  [["video=mp4", "image", "log=txt"], null, "image"],
  [["image=", "video=mp4"], null, "image"],
  [["image="], null, "image"],
  [["image=", "other"], null, "other"],
  [["image", "mask"], null, null],
  [["first=", "second="], null, null],
  [["video=mp4"], null, null],
  [["image", "mask"], "mask", "mask"],
  [["image", "masks[0]", "masks[1]"], "masks", "masks[0]"],
  [["masks[0]", "masks[1]"], "masks[1]", "masks[1]"],
  [["image", "imagesmall"], "image", "image"],
  [["image"], "images", "image"],
  [["image", "mask"], "images", null],
  [["images[0].url", "images[1].url"], null, "images[0].url"],
  [["[0].image", "[0].mask"], null, null],
  [["image=jfif", "log=txt"], null, "image"],
  [["video=mp4", "image"], "video", "image"],
  [["files[0]=json", "files[1]"], "files", "files[1]"],
])(
  "a frame whose run returns files at %j, of a model whose row names %s → %s is stored, or nothing",
  async (output, row, found) => {
    await db.sql`update keyframe.models set output = ${row} where model is not null`;
    const all = files(...output);
    const now = await finishWith(all);
    const failed = { status: "failed", error_code: "output_not_usable", error_retryable: false };
    const stored = { status: "storing", provider_output_url: all.find(({ at }) => at === found)?.url };
    expect(now).toMatchObject(found === null ? failed : stored);
    if (found === null)
      expect(now.error_message).toContain(
        `has several files: ${all.map(({ at }) => at).join(", ")}. An administrator must name one in the column output of the model google/nano-banana${row === null ? "." : `, which has ${row}.`}`,
      );
    await db.sql`update keyframe.models m set output = null where m.output is not null`;
  },
);

test("a run's one file at two places → stored; a run with very many files → the error still says what to do", async () => {
  const [first, second] = files("image", "files[0]");
  if (!first || !second) throw new Error("There are two.");
  expect(await finishWith([first, { ...second, url: first.url }])).toMatchObject({ provider_output_url: first.url });
  const many = files(...Array.from({ length: 100 }, (_, index) => `${"field".repeat(15)}${index}`));
  const { error_message } = await finishWith(many);
  expect(error_message).toMatch(/in the column output of the model google\/nano-banana\.$/);
});

test("a run without the file that the model's row names → its only file is stored, and Postgres logs the row to correct", async () => {
  const logged: (string | undefined)[] = [];
  const sql = postgres(db.url, { max: 1, onnotice: ({ severity, message }) => logged.push(`${severity}: ${message}`) });
  await sql`update keyframe.models set output = 'video' where model = 'google/nano-banana'`;
  const outputFiles = files("image");
  const { id, provider_output_url } = await finishWith(outputFiles, sql);
  expect(provider_output_url).toBe(outputFiles[0]?.url);
  expect(logged).toContain(
    `WARNING: The run of prediction ${id} has no file at video, which the row of the model google/nano-banana for first-frame names in output.`,
  );
  await sql`update keyframe.models set output = null where model = 'google/nano-banana'`;
  await sql.end();
});

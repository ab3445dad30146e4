import { describe, expect, onTestFinished, test } from "vitest";
import type { Blocker, LastKick, ServiceFigures, WorkerFigures } from "../../../shared/contract/service.ts";
import { SCHEMA_VERSION } from "../../../shared/platform/schema-version.ts";
import { isOlder } from "../../../shared/api/routes/health.ts";
import { noticesOf, problemsOf } from "../../../shared/api/runbook/problems.ts";
import { type AllFigures, sampleFigures } from "./figures.ts";
import { OWNER, SECRET_KEY, startApi } from "./fixture.ts";

const NO_KICK: LastKick = {
  outcome: "none",
  status: null,
  error: null,
  madeSeconds: null,
  acknowledgedAfterSeconds: null,
};
const JOB = { scheduled: true, obstacle: null, lastSuccessSeconds: 2, lastError: null, isLate: false };

const WORKER: WorkerFigures = {
  ...{ claimedSeconds: 1, isProcess: false, oldestKickSeconds: null, callSeconds: 0.004, slowWork: 0 },
  leased: { of: 32, open: 30, slow: [{ name: "acme/slow", open: 3, of: 32 }] },
};
const PERIOD = { settledMicros: 0, heldMicros: 0, unknownMicros: 0, budgetMicros: null, leftMicros: null };
const COSTS: AllFigures["costs"] = {
  ...{ today: PERIOD, month: PERIOD, unknownSubmits: 3, cheapestStartMicros: 67_000, spendingStopped: false },
};
const NOT_DUE = {
  ...{ submit: 29.9, poll: 29.9, store: null, cancel: null, search: null },
  ...{ expire: null, remove: 3599, delivery: 29.9, slot: null },
};
const BLOCKER: Blocker = {
  ...{ pid: 7, role: "app", seconds: 20.6, isIdle: false, blocks: 0, tables: "keyframe.projects", locksTables: false },
  waitsFor: null,
};
const CALLER = { ownerId: OWNER, calls: 6, called: "read_usage", seconds: 4.4 };
const UNPRUNED = {
  ...{ kind: "job", subject: "delete keyframe.webhook_events x", code: "P0001" },
  ...{ reason: "An app keeps it.", failures: 2 },
};

/** Of a service where all is well, but for what is given. */
function figures(parts: Partial<ServiceFigures> = {}): AllFigures {
  const sample = sampleFigures();
  return {
    ...sample,
    deliveries: { ...sample.deliveries, unsignedEndpoints: 0 },
    kicks: { ...sample.kicks, othersUnsent: 0, oldestUnsentSeconds: null },
    lastKicks: { generate: NO_KICK, deliver: NO_KICK },
    workers: { generate: WORKER, deliver: WORKER },
    settings: { isReadOnly: false, hasSettings: true, missingSecrets: [], address: "https://ref.supabase.co" },
    due: NOT_DUE,
    skipped: { count: 0, kinds: {}, worst: null },
    calls: { slow: 4, slowest: "read_usage", slowestSeconds: 9, owners: [] },
    jobs: { sweep: JOB, "merge-costs": JOB },
    costs: COSTS,
    ...({ clockBackSeconds: null, ...parts } as Partial<AllFigures>), // a part may be null: that is what problemsOf takes
  };
}
const afterKick = (kick: Partial<LastKick>, oldestKickSeconds: number | null = null) =>
  problemsOf(
    figures({
      lastKicks: { generate: NO_KICK, deliver: { ...NO_KICK, madeSeconds: 1, ...kick } },
      workers: { generate: WORKER, deliver: { ...WORKER, oldestKickSeconds } },
    }),
  );
const deliverIs = (worker: Partial<WorkerFigures>) => ({
  workers: { generate: WORKER, deliver: { ...WORKER, ...worker } },
});
const { kicks: KICKS, deliveries: DELIVERIES, predictions: PREDICTIONS, settings: SETTINGS } = figures();
const left = (leftMicros: number) => ({ ...PERIOD, budgetMicros: 5_000_000, leftMicros });
const late = (due: Partial<typeof NOT_DUE>, of: number, subject: string, count: number) => {
  const largest = [{ ownerId: OWNER, subject, count, of }];
  return {
    due: { ...NOT_DUE, ...due },
    deliveries: { ...DELIVERIES, ...(due.delivery === undefined ? {} : { largest }) },
    predictions: { ...PREDICTIONS, ...(due.submit === undefined ? {} : { largest }) },
  };
};
const refused = (refusal: string) => ({ predictions: { ...PREDICTIONS, refusal } });
const slow = (name: "generate" | "deliver", ...things: WorkerFigures["leased"]["slow"]) => ({
  workers: { generate: WORKER, deliver: WORKER, [name]: { ...WORKER, leased: { of: 132, open: 80, slow: things } } },
});
const gone = (model: Partial<AllFigures["unavailableModels"][number]>) => {
  const row = {
    step: "video",
    model: "acme/film",
    reason: "unknown",
    isDefault: true,
    successor: "acme/film-2",
  } as const;
  return { unavailableModels: [{ ...row, ...model }] };
};

describe("no problem", () => {
  test.each<[string, Partial<LastKick>, number?]>([
    ["no kick since the database started", NO_KICK],
    ["no answer yet, or not kept any more", { outcome: "unanswered", madeSeconds: 90_000 }],
    ["accepted and acknowledged", { outcome: "accepted", status: 202, acknowledgedAfterSeconds: 0.01 }],
    ["accepted a moment ago, and not acknowledged yet", { outcome: "accepted", status: 202 }, 19],
    ["too late, and acknowledged", { outcome: "failed", error: "Timeout was reached", acknowledgedAfterSeconds: 6 }],
    ["answered by a gateway, and acknowledged", { outcome: "answered", status: 504, acknowledgedAfterSeconds: 0.2 }],
  ])("a kick: %s → no problem", (_, kick, oldest) => {
    expect(afterKick(kick, oldest)).toEqual([]);
  });

  test.each<[string, Partial<ServiceFigures>]>([
    ["a kick that is to be sent within seconds", { kicks: { ...KICKS, unsent: 1, oldestUnsentSeconds: 19.9 } }],
    ["a job that failed, and is not late", { jobs: { prune: { ...JOB, lastError: "it broke" } } }],
    ["calls of less than a second, and nine slow deliveries", deliverIs({ callSeconds: 0.999, slowWork: 9 })],
    ["a worker whose last word is old", deliverIs({ callSeconds: 1.5, slowWork: 10, claimedSeconds: 60 })],
    ["generate, which is slower", { workers: { generate: { ...WORKER, slowWork: 10 }, deliver: WORKER } }],
    ["as much left of a budget as the cheapest start costs", { costs: { ...COSTS, month: left(67_000) } }],
  ])("%s → no problem", (_, parts) => {
    expect(problemsOf(figures(parts))).toEqual([]);
  });
});

describe("a kick that failed", () => {
  test.each<[string, Partial<LastKick>, string, string]>([
    ["no Vault", { outcome: "not_made", error: "The Vault lacks it." }, "(The Vault lacks it)", "Deploy again"],
    [
      "refused",
      { outcome: "answered", status: 401 },
      "401",
      "keyframe_kick_secret in the Vault is not KEYFRAME_KICK_SECRET",
    ],
    ["nobody there", { outcome: "answered", status: 404 }, "404", "deliver is not deployed"],
    ["a function that fails", { outcome: "answered", status: 503 }, "503", "Its log says why"],
    ["too many calls", { outcome: "answered", status: 429 }, "429", "the platform limits"],
    ["a page of another server", { outcome: "answered", status: 200 }, "200", "another server answers there"],
    ["too slow", { outcome: "failed", error: "Timeout was reached" }, "(Timeout was reached)", "its log says why"],
    [
      "no connection",
      { outcome: "failed", error: "Couldn't connect to server" },
      "(Couldn't connect to server)",
      "keyframe_functions_url in the Vault is wrong",
    ],
    ["no claim since", { outcome: "accepted", status: 202 }, "20 s ago", "its log says why"],
    ["no claim since, the newest kick not answered yet", { outcome: "unanswered" }, "20 s ago", "its log says why"],
  ])("a kick that failed: %s → one problem, which names the function and says what to do", (_, kick, what, advice) => {
    const [problem = "", ...others] = afterKick(kick, 20);
    expect(others).toEqual([]);
    for (const words of ["deliver", what, advice]) expect(problem).toContain(words);
    expect(problem).not.toMatch(/generate|null|undefined|\.\./);
    expect(problem).toMatch(/^[A-Za-z_].*\.$/);
  });
});

test("kicks that another project accepts → health names that project, and how the database can work for this one", () => {
  const kick: LastKick = { ...NO_KICK, outcome: "accepted", status: 202, madeSeconds: 1 };
  const worker = { ...WORKER, oldestKickSeconds: 20 };
  const given = figures({
    lastKicks: { generate: kick, deliver: kick },
    workers: { generate: worker, deliver: worker },
  });
  const here = "https://copy.supabase.co";
  expect(problemsOf(given, "ok", here)).toEqual([
    expect.stringMatching(
      /^Kicks go to https:\/\/ref\.supabase\.co, and this is https:\/\/copy\.supabase\.co: .*select keyframe_private\.set_address\('https:\/\/copy\.supabase\.co'\)\.$/,
    ),
  ]);
  expect(problemsOf(given, "ok", "https://ref.supabase.co").join()).not.toContain("set_address");
});

test.each<[AllFigures["snapshots"][number], RegExp]>([
  [
    { kind: "session", name: "7", role: "app", seconds: 1260, transactions: 900 },
    /^A transaction of app has held a snapshot for 21 min, 900 transactions long: .*pg_terminate_backend\(7\)/,
  ],
  [
    { kind: "prepared", name: "order-1", role: "app", seconds: 1260, transactions: 900 },
    /^The prepared transaction order-1 of app has held .*rollback prepared/,
  ],
  [
    { kind: "slot", name: "etl", role: null, seconds: null, transactions: 2_000_000 },
    /^The replication slot etl has held a snapshot, 2000000 transactions long: .*pg_drop_replication_slot\('etl'\)\.$/,
  ],
  [
    { kind: "standby", name: "walreceiver", role: "replicator", seconds: null, transactions: 2_000_000 },
    /^The standby walreceiver .*hot_standby_feedback off\.$/,
  ],
])(
  "a snapshot held for long, %j → a notice with who, since when and what to do; not a problem",
  (snapshot, sentence) => {
    const given = figures({ snapshots: [snapshot], appTriggers: [] });
    expect([problemsOf(given), noticesOf(given)]).toEqual([[], [expect.stringMatching(sentence)]]);
  },
);

test("a kick that no function answers, after a process's last claim → health says that the process has ended", () => {
  const worker = { ...WORKER, isProcess: true, claimedSeconds: 44.4, oldestKickSeconds: 40 };
  const kick = { ...NO_KICK, madeSeconds: 1, outcome: "answered" as const, status: 404 };
  const [problem] = problemsOf(
    figures({ lastKicks: { generate: kick, deliver: NO_KICK }, workers: { generate: worker, deliver: WORKER } }),
  );
  expect(problem).toContain("answered 404");
  expect(problem).toMatch(
    /The last claim, 44 s ago, came from a process: start it again \(npm run worker -- --only generate\)\.$/,
  );
});

test.each<[string, Partial<ServiceFigures>, RegExp]>([
  [
    "endpoints whose secrets cannot be decrypted",
    { deliveries: { ...DELIVERIES, unsignedEndpoints: 2 } },
    /^2 webhook endpoints cannot be signed for: .* rotate their secrets\.$/,
  ],
  [
    "a transaction that has locked rows",
    { blockers: [BLOCKER] },
    /^A transaction of app has been open for 21 s and has locked rows of keyframe\.projects: .*pg_terminate_backend\(7\)/,
  ],
  [
    "a transaction that has locked a table, and others that wait behind one another",
    { blockers: [{ ...BLOCKER, locksTables: true, isIdle: true, blocks: 3 }] },
    /^A transaction of app \(idle\) has been open for 21 s and has locked keyframe\.projects: 3 sessions wait for it\. .*pg_terminate_backend\(7\)/,
  ],
  [
    "a transaction that has locked a table, and nobody that waits yet",
    { blockers: [{ ...BLOCKER, locksTables: true }] },
    /^A transaction of app has been open for 21 s and has locked keyframe\.projects: work there waits\. /,
  ],
  [
    "a transaction that waits to lock a table",
    { blockers: [{ ...BLOCKER, locksTables: true, blocks: 3, waitsFor: 9 }] },
    /^A transaction of app has been open for 21 s and waits for process 9, to lock keyframe\.projects: 3 sessions wait for it\. End it with "select pg_terminate_backend\(7\)" and try again later, or end process 9\.$/,
  ],
  [
    "a transaction that waits for a prepared one, to lock a table",
    { blockers: [{ ...BLOCKER, locksTables: true, waitsFor: 0 }] },
    /waits for a prepared transaction \(pg_prepared_xacts\), to lock keyframe\.projects: work there waits\. /,
  ],
  [
    "a transaction that holds what is not Keyframe's, and that others wait for",
    { blockers: [{ ...BLOCKER, tables: null, blocks: 1 }] },
    /^A transaction of app has been open for 21 s: 1 session waits for it\. .*pg_terminate_backend\(7\)/,
  ],
  [
    "a prepared transaction",
    { blockers: [{ ...BLOCKER, pid: 0, role: null, seconds: null, tables: null, blocks: 2 }] },
    /^A prepared transaction .*2 sessions wait for it\. .*pg_prepared_xacts.*rollback prepared/,
  ],
  [
    "parts that are locked, by somebody who has gone",
    {
      predictions: null,
      costs: null,
      unread: [
        { part: "predictions", code: "55P03", reason: "canceling statement due to lock timeout" },
        { part: "costs", code: "55P03", reason: "canceling statement due to lock timeout" },
      ],
    },
    /^Not read because of a lock: predictions, costs\. No transaction was found that has it\. Request the figures again; .*pg_locks\.$/,
  ],
  [
    "parts that there was no time for",
    { costs: null, unread: [{ part: "costs", code: "57014", reason: "no time was left" }] },
    /^Not read in time: costs \(no time was left\)\. Postgres is slow/,
  ],
  [
    "a part that fails",
    { jobs: null, unread: [{ part: "jobs", code: "42P01", reason: 'relation "cron.job" does not exist' }] },
    /^These figures cannot be read: jobs \(relation "cron\.job" does not exist\)\. Fix what the error names\.$/,
  ],
  [
    "a read-only database",
    { settings: { ...SETTINGS, isReadOnly: true } },
    /^Sessions are read-only .*: jobs, kicks, sign-ins and uploads fail; .*: begin read write; alter database .*; commit\. /,
  ],
  [
    "no row of settings",
    { settings: { ...SETTINGS, hasSettings: false } },
    /^The row of keyframe_private\.settings is missing: .*default values\. It starts with spending stopped/,
  ],
  [
    "a Vault without a secret",
    { settings: { ...SETTINGS, missingSecrets: ["keyframe_kick_secret"] } },
    /^The Vault lacks keyframe_kick_secret, or cannot decrypt it, .* Deploy again/,
  ],
  [
    "a clock that was set back",
    { clockBackSeconds: 3600.4 },
    /^The database's clock was set back by 3600 s: .*time synchronisation/,
  ],
  [
    "a row that a job skips",
    { skipped: { count: 1, kinds: { job: 1 }, worst: UNPRUNED } },
    /^The database refuses 1 row \(job: 1\), such as job delete keyframe\.webhook_events x, 2 times: An app keeps it \(P0001\)\. .* All of them: select \* from keyframe_private\.skipped_rows\.$/,
  ],
  [
    "work of generate that the database refuses",
    {
      skipped: {
        count: 3,
        kinds: { poll: 2, job: 1 },
        worst: { ...UNPRUNED, kind: "poll", subject: OWNER, reason: null, failures: 9 },
      },
    },
    /^The database refuses 3 rows \(poll: 2, job: 1\), such as poll 7d3f1c52-\S+, 9 times: P0001; the log of keyframe-generate has more\. .* keyframe_private\.work where queue <> 'deliver' and failures > 2 and last_error ~ '\^\[0-9A-Z\]\{5\}\$'; select \* from keyframe_private\.skipped_rows\.$/,
  ],
  [
    "many long calls",
    { calls: { slow: 5, slowest: "read_usage", slowestSeconds: 9.6, owners: [] } },
    /^5 database calls have run for over 2 s, the longest for 10 s, most of them read_usage: .*rate_limits.*alter role .*; notify pgrst, 'reload config'\.$/,
  ],
  [
    "an owner with many calls that take long",
    { calls: { slow: 0, slowest: null, slowestSeconds: null, owners: [CALLER] } },
    /^Owner 7d3f1c52-\S+ has 6 database calls at once that have taken 4 s together, most of them read_usage: .*max_calls_per_owner.*ban the account/,
  ],
  [
    "work that is late",
    { due: { ...NOT_DUE, submit: 30, delivery: 44.4, remove: 3600 } },
    /^Work is due and not done: a submit to the provider for 30 s, the removal of a file for 3600 s, a delivery for 44 s\. /,
  ],
  [
    "late deliveries, most of them of one owner",
    late({ delivery: 44.4 }, 120, "e1", 90),
    /^Work is due and not done: a delivery for 44 s\. Owner 7d3f1c52-\S+ has 90 of the 120 pending deliveries, mostly to endpoint e1: .*webhook_endpoints set enabled = false/,
  ],
  [
    "late submits, most of them of one owner",
    late({ submit: 31 }, 1000, "acme/slow", 500),
    /^Work is due and not done: a submit to the provider for 31 s\. Owner 7d3f1c52-\S+ has 500 of the 1000 due predictions, mostly for the model acme\/slow: .*max_active_per_owner/,
  ],
  [
    "late submits of many owners",
    late({ submit: 31 }, 1000, "acme/slow", 499),
    /^Work is due and not done: a submit to the provider for 31 s\. If no other problem here explains it/,
  ],
  [
    "a kick behind others' requests",
    { kicks: { ...KICKS, unsent: 1, oldestUnsentSeconds: 20, othersUnsent: 201 } },
    /^pg_net has had a kick for 20 s .*net\.worker_restart\(\)".* busy: 201 requests of other senders/,
  ],
  [
    "a token that Replicate refuses",
    refused("provider_unauthorized"),
    /refuses the service's token\. Set a valid KEYFRAME_REPLICATE_API_TOKEN as a secret/,
  ],
  [
    "a bill at Replicate",
    refused("provider_payment_required"),
    /refuses to run anything before a payment\. Check the billing/,
  ],
  ["kicks that stay", { kicks: { ...KICKS, unsent: 3, oldestUnsentSeconds: 30.6 } }, /31 s.*net\.worker_restart\(\)/],
  [
    "a database that pg_net does not work for",
    { kicks: { ...KICKS, unsent: 3, oldestUnsentSeconds: 300, servedDatabase: "postgres" } },
    /^pg_net sends no kick .*pg_net\.database_name is postgres.*restart Postgres\.$/,
  ],
  [
    "an eighth of generate waits for one model",
    slow("generate", { name: "acme/slow", open: 12, of: 96 }, { name: "cdn.example acme/film", open: 4, of: 36 }),
    /^Much of what generate has leased waits for something slow: 12 of 96 for acme\/slow\. .*enabled = false/,
  ],
  [
    "an eighth of deliver waits for one endpoint",
    slow("deliver", { name: "crm.example slow", open: 55, of: 440 }),
    /: 55 of 440 for crm\.example slow\. .*admin_webhook_health/,
  ],
  [
    "ten slow deliveries",
    deliverIs({ slowWork: 10 }),
    /^10 deliveries have been leased for over 3 s: receivers are slow\./,
  ],
  ["stopped", { costs: { ...COSTS, spendingStopped: true } }, /^Spending is stopped: .*spending_stopped = false\.$/],
  [
    "less left of a day's budget than the cheapest start costs",
    { costs: { ...COSTS, today: left(66_999) } },
    /^The service's budget of this day .*\$0\.07 of \$5\.00 .*service_day_micros.*admin_costs/,
  ],
  [
    "nothing left of a month's budget, and no known price",
    { costs: { ...COSTS, month: left(0), cheapestStartMicros: null } },
    /^The service's budget of this month .*\$0\.00 of \$5\.00 .*service_month_micros/,
  ],
  [
    "jobs that are gone, elsewhere or there twice",
    {
      jobs: {
        "delete-parts": { ...JOB, scheduled: false, obstacle: "missing" },
        sweep: { ...JOB, scheduled: false, obstacle: "in the database film, not in postgres", isLate: true },
        prune: { ...JOB, obstacle: "as entry 7 of the role boss, not of postgres" },
        "merge-costs": JOB,
      },
    },
    /^Entries of pg_cron .*: keyframe-delete-parts \(missing\), keyframe-sweep \(in the database film, not in postgres\), keyframe-prune \(as entry 7 of the role boss, not of postgres\)\. .*schedule_jobs\(\), which/,
  ],
  [
    "a job that fails",
    { jobs: { sweep: JOB, "merge-costs": { ...JOB, lastError: "ERROR:  it broke.", isLate: true } } },
    /^The job keyframe-merge-costs fails: ERROR: {2}it broke\. Fix what the error names\. .*cron\.job_run_details/,
  ],
  [
    "jobs that have not run for long, or never",
    {
      jobs: {
        sweep: { ...JOB, lastSuccessSeconds: 61.2, isLate: true },
        prune: { ...JOB, lastSuccessSeconds: null, isLate: true },
      },
    },
    /^Jobs have not succeeded for too long: keyframe-sweep \(61 s ago\), keyframe-prune \(not in its log\)\. .*pg_cron is off/,
  ],
  [
    "a default model past its end",
    gone({ reason: "ended" }),
    /its shutdown_at has passed\. Starts use acme\/film-2\. .*step_defaults/,
  ],
  ["a default without another", gone({ successor: null }), /Starts of this step are refused with model_unavailable\./],
  [
    "another past its end",
    gone({ reason: "ended", isDefault: false }),
    /its shutdown_at has passed\. .*enabled = false/,
  ],
])("%s → one problem, which says what to do", (_, parts, sentence) => {
  expect(problemsOf(figures(parts))).toEqual([expect.stringMatching(sentence)]);
});

test("submits are late, and spending is stopped, pg_net sends nothing, a job fails, a worker is slow → the causes first", () => {
  const given = figures({
    due: { ...NOT_DUE, submit: 31 },
    costs: { ...COSTS, spendingStopped: true },
    kicks: { ...KICKS, unsent: 3, oldestUnsentSeconds: 30 },
    jobs: { sweep: { ...JOB, lastError: "it broke", isLate: true } },
    ...deliverIs({ callSeconds: 1.5 }),
  });
  const problems = problemsOf(given);
  expect(problems).toHaveLength(5);
  expect(problems.at(-1)).toMatch(/^Work is due and not done/);
});

/** The API before a database that answers plain and deep health so. Reads either. */
async function openHealth(plain: () => Response, deep: ServiceFigures = figures()) {
  const { call, log, stop } = await startApi(({ path }) => (path.endsWith("/health") ? plain() : Response.json(deep)));
  onTestFinished(stop);
  const read = async (response: Response) => ({ status: response.status, ...(await response.json()) });
  return {
    readPlain: async () => read(await call("/api/health")),
    readDeep: async () =>
      read(await call("/api/health?deep=1", { headers: { authorization: `Bearer ${SECRET_KEY}` } })),
    log,
  };
}
const saysOk = () => Response.json({ schema: SCHEMA_VERSION, writes: "ok" });

test("plain health fails → deep health is 200 with the figures, and says so; plain health is 503", async () => {
  const deep = figures();
  const api = await openHealth(() => Response.json({ code: "42501" }, { status: 403 }), deep);
  expect((await api.readPlain()).status).toBe(503);
  expect(await api.readDeep()).toMatchObject({
    status: 200,
    data: {
      status: "degraded",
      schemaVersion: null,
      figures: deep,
      problems: [expect.stringMatching(/^GET \/api\/health fails, .* \(status 403, code 42501\)\. /)],
    },
  });
  const logged = api.log.map((line) => JSON.parse(line));
  expect(logged).toContainEqual(expect.objectContaining({ event: "health_failed", reason: "status 403, code 42501" }));
});

test("deep health while an owner uses up a rate and an app has a trigger → 200 ok, and notices with what to do", async () => {
  const limitedOwners = [
    { ownerId: OWNER, routeClass: "generate", seconds: 14.2 },
    { ownerId: OWNER, routeClass: "wait", seconds: 11 },
  ];
  const api = await openHealth(saysOk, figures({ limitedOwners, appTriggers: ["app_skip on keyframe.predictions"] }));
  expect((await api.readDeep()).data).toMatchObject({
    status: "ok",
    problems: [],
    notices: [
      expect.stringMatching(
        /^Owner 7d3f1c52-\S+ has used up the rate of generate requests for 14 s: the rest is refused.*route_class = 'generate'.*ban the account/,
      ),
      expect.stringMatching(/of wait requests for 11 s: the rest is checked less often/),
      expect.stringMatching(
        /^Triggers that are not Keyframe's .*: app_skip on keyframe\.predictions\. .*drop them first\.$/,
      ),
    ],
  });
});

test("a hundred requests without a token at once → one call of the database at a time answers them", async () => {
  let open = 0;
  let most = 0;
  const api = await startApi(async () => {
    most = Math.max(most, ++open);
    await new Promise((resolve) => setTimeout(resolve, 20));
    open--;
    return Response.json({ schema: SCHEMA_VERSION, writes: "ok" });
  });
  onTestFinished(api.stop);
  const ask = async () => (await api.call("/api/health")).status;
  expect(await Promise.all(Array.from({ length: 100 }, ask))).toEqual(Array(100).fill(200));
  expect(most).toBe(1);
  expect(await ask()).toBe(200);
});

test.each([
  ["read_only", SCHEMA_VERSION, /^Sessions are read-only/],
  ["settings_missing", SCHEMA_VERSION, /^The row of keyframe_private\.settings is missing/],
  ["locked", null, /^A write would wait for a lock/],
])(
  "a write would fail (%s) → plain health is 503 without the reason; deep health is 200 with it",
  async (writes, schema, sentence) => {
    const api = await openHealth(() => Response.json({ schema, writes }));
    expect(await api.readPlain()).toMatchObject({ status: 503, error: { code: "unavailable" } });
    const data = { schemaVersion: schema, problems: [expect.stringMatching(sentence)] };
    expect(await api.readDeep()).toMatchObject({ status: 200, data });
  },
);

test.each([
  ["0.9.0", "0.10.0", true],
  ["0.10.0", "0.9.0", false],
  ["1.0.9", "1.0.10", true],
  ["1.0.0", "1.0.0", false],
])("a database of version %s and functions that need %s → the database is older: %s", (has, needs, older) => {
  expect(isOlder(has, needs)).toBe(older);
});

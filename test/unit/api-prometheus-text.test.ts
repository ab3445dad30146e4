import { expect, test } from "vitest";
import type { ServiceFigures } from "../../shared/contract/service.ts";
import { metricsOf } from "../../supabase/functions/api/routes/metrics.ts";
import { prometheusText } from "../../supabase/functions/api/http/prometheus-text.ts";

test("two metrics, one with labels → help, type and samples, each line ended", () => {
  const text = prometheusText([
    { name: "films", help: "How many.", samples: [{ value: 3 }] },
    {
      name: "frames",
      help: "By step.",
      samples: [
        { labels: { step: "first-frame", owner: "a" }, value: 0.5 },
        { labels: { step: "video" }, value: 0 },
      ],
    },
  ]);
  expect(text).toBe(
    [
      "# HELP films How many.",
      "# TYPE films gauge",
      "films 3",
      "# HELP frames By step.",
      "# TYPE frames gauge",
      'frames{step="first-frame",owner="a"} 0.5',
      'frames{step="video"} 0',
      "",
    ].join("\n"),
  );
});

test("a label with a quote, a backslash and a line end → escaped, so that it stays one line and one label", () => {
  const text = prometheusText([
    { name: "a", help: "h", samples: [{ labels: { b: 'say "x\\n"\n{c="d"} 1' }, value: 1 }] },
  ]);
  expect(text.split("\n").at(2)).toBe(String.raw`a{b="say \"x\\n\"\n{c=\"d\"} 1"} 1`);
});

test("a help with a backslash and a line end → escaped; quotes stay", () => {
  const text = prometheusText([{ name: "a", help: 'one\ntwo \\ "three"', samples: [{ value: 1 }] }]);
  expect(text.split("\n").at(0)).toBe(String.raw`# HELP a one\ntwo \\ "three"`);
});

test.each([
  [Number.POSITIVE_INFINITY, "+Inf"],
  [Number.NEGATIVE_INFINITY, "-Inf"],
  [Number.NaN, "NaN"],
  [1e21, "1e+21"],
  [-0.25, "-0.25"],
])("the value %d → %s", (value, written) => {
  expect(prometheusText([{ name: "a", help: "h", samples: [{ value }] }])).toContain(`\na ${written}\n`);
});

test("a sample without a value → left out; a metric without any → nothing at all", () => {
  const samples = [
    { labels: { job: "a" }, value: null },
    { labels: { job: "b" }, value: 2 },
  ];
  expect(prometheusText([{ name: "x", help: "h", samples }])).toBe('# HELP x h\n# TYPE x gauge\nx{job="b"} 2\n');
  expect(prometheusText([{ name: "x", help: "h", samples: samples.slice(0, 1) }])).toBe("");
});

test.each(["", "1a", "a-b", "a b", "a\n"])("the name %j → refused, of a metric and of a label", (name) => {
  expect(() => prometheusText([{ name, help: "h", samples: [{ value: 1 }] }])).toThrow("not a metric name");
  const samples = [{ labels: { [name]: "x" }, value: 1 }];
  expect(() => prometheusText([{ name: "a", help: "h", samples }])).toThrow("not a label name");
});

const job = (n: number) => ({ scheduled: true, lastRunSeconds: n, lastSuccessSeconds: n + 1, failures: n + 2 });
/** Every figure another number, so that a swapped one is seen. */
const FIGURES: ServiceFigures = {
  predictions: {
    ...{ queued: 101, starting: 102, processing: 103, storing: 104, retrying: 105 },
    ...{ due: 106, oldestDueSeconds: 107.5, waiting: 108, oldestWaitingSeconds: 109, runsToCancel: 110 },
  },
  deliveries: {
    ...{ due: 201, sending: 202, pending: 203, held: 204, oldestDueSeconds: 205 },
    ...{ failingEndpoints: 206, oldestFailingSeconds: 207, endpointsSwitchedOff: 208 },
  },
  events: { projectCreated: 301, generationSucceeded: 302, generationFailed: 303 },
  kicks: {
    unsent: 401,
    oldestUnsentSeconds: 402,
    accepted: 403,
    refused: 404,
    failed: 405,
    lastAcceptedSeconds: 406,
    servedDatabase: null,
  },
  lastKicks: {
    generate: { outcome: "accepted", status: 411, error: null, madeSeconds: 412, acknowledgedAfterSeconds: 413 },
    deliver: { outcome: "answered", status: 421, error: null, madeSeconds: 422, acknowledgedAfterSeconds: null },
  },
  sweep: job(501),
  prune: job(511),
  fileRemovals: { pending: 601, due: 602, failing: 603, oldestDueSeconds: 604 },
};

test("every figure → in a sample of its own", () => {
  const values = metricsOf(FIGURES).flatMap(({ samples }) => samples.map(({ value }) => value));
  const numbers =
    JSON.stringify(FIGURES)
      .match(/\d+(\.\d+)?/g)
      ?.map(Number) ?? [];
  const [scheduled, works] = [
    [1, 1],
    [1, 0],
  ];
  expect(values.filter((value) => value !== null).toSorted()).toEqual([...numbers, ...scheduled, ...works].toSorted());
});

test("the metrics that alerts use → by these names and labels", () => {
  const text = prometheusText(metricsOf(FIGURES));
  for (const line of [
    'keyframe_predictions{status="waiting"} 108',
    'keyframe_predictions{status="storing"} 104',
    "keyframe_predictions_oldest_due_seconds 107.5",
    'keyframe_deliveries{state="held"} 204',
    "keyframe_deliveries_oldest_due_seconds 205",
    'keyframe_events_5m{type="generation.failed"} 303',
    'keyframe_kicks_5m{outcome="refused"} 404',
    'keyframe_last_kick_ok{function="generate"} 1',
    'keyframe_last_kick_ok{function="deliver"} 0',
    'keyframe_last_kick_acknowledged_after_seconds{function="generate"} 413',
    'keyframe_cron_scheduled{job="prune"} 1',
    'keyframe_cron_last_success_seconds{job="sweep"} 502',
    "keyframe_file_removals_oldest_due_seconds 604",
  ]) {
    expect(text.split("\n")).toContain(line);
  }
});

test("nothing waits → 0 for what is oldest; what is not known is left out", () => {
  const { predictions, kicks, lastKicks, sweep } = FIGURES;
  const text = prometheusText(
    metricsOf({
      ...FIGURES,
      predictions: { ...predictions, oldestDueSeconds: null },
      kicks: { ...kicks, lastAcceptedSeconds: null },
      lastKicks: {
        ...lastKicks,
        generate: { ...lastKicks.generate, outcome: "unanswered", acknowledgedAfterSeconds: null },
      },
      sweep: { ...sweep, scheduled: false, lastSuccessSeconds: null },
    }),
  );
  expect(text).toContain("\nkeyframe_predictions_oldest_due_seconds 0\n");
  expect(text).not.toContain("keyframe_kicks_last_accepted_seconds");
  expect(text).not.toContain('keyframe_last_kick_ok{function="generate"}');
  expect(text).toContain('\nkeyframe_cron_scheduled{job="sweep"} 0\n');
  expect(text).not.toContain('keyframe_cron_last_success_seconds{job="sweep"}');
});

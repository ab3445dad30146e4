import { expect, test } from "vitest";
import { metricsOf } from "../../supabase/functions/api/routes/metrics.ts";
import { prometheusText } from "../../supabase/functions/api/http/prometheus-text.ts";
import { sampleFigures } from "./api-figures.ts";

test("quote, backslash and line end, in a label or a help → escaped, so that each stays one line; a help's quotes stay", () => {
  const samples = [{ labels: { b: 'say "x\\n"\n{c="d"} 1' }, value: 1 }];
  const [help, , sample] = prometheusText([{ name: "a", help: 'one\ntwo \\ "three"', samples }]).split("\n");
  expect(help).toBe(String.raw`# HELP a one\ntwo \\ "three"`);
  expect(sample).toBe(String.raw`a{b="say \"x\\n\"\n{c=\"d\"} 1"} 1`);
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
  const [a, b] = [{ job: "a" }, { job: "b" }];
  const samples = [
    { labels: a, value: null },
    { labels: b, value: 2 },
  ];
  expect(prometheusText([{ name: "x", help: "h", samples }])).toBe('# HELP x h\n# TYPE x gauge\nx{job="b"} 2\n');
  expect(prometheusText([{ name: "x", help: "h", samples: samples.slice(0, 1) }])).toBe("");
});

test.each(["", "1a", "a-b", "a b", "a\n"])("the name %j → refused, of a metric and of a label", (name) => {
  expect(() => prometheusText([{ name, help: "h", samples: [{ value: 1 }] }])).toThrow("not a metric name");
  const samples = [{ labels: { [name]: "x" }, value: 1 }];
  expect(() => prometheusText([{ name: "a", help: "h", samples }])).toThrow("not a label name");
});

const FIGURES = sampleFigures();

test("every figure but the process of a transaction → in a sample of its own", () => {
  const values = metricsOf(FIGURES).flatMap(({ samples }) => samples.map(({ value }) => value));
  const numbers =
    JSON.stringify({ ...FIGURES, transactions: { ...FIGURES.transactions, pid: null } })
      .match(/\d+/g)
      ?.map(Number) ?? [];
  const switches = [1, 1, 1, 1, 1, 0]; // spending is stopped, two jobs are scheduled, two kicks work, no model is unavailable
  expect(values.filter((value) => value !== null).toSorted()).toEqual([...numbers, ...switches].toSorted());
});

test("the metrics that alerts use → by these names and labels", () => {
  const { predictions, deliveries, events, kicks, lastKicks, sweep, fileRemovals } = FIGURES;
  const refused = { ...lastKicks.deliver, outcome: "answered" as const, status: 401, acknowledgedAfterSeconds: null };
  const text = prometheusText(metricsOf({ ...FIGURES, lastKicks: { ...lastKicks, deliver: refused } }));
  for (const [metric, value] of [
    ['predictions{status="waiting"}', predictions.waiting],
    ['predictions{status="storing"}', predictions.storing],
    ["predictions_oldest_due_seconds", predictions.oldestDueSeconds],
    ['deliveries{state="held"}', deliveries.held],
    ["deliveries_oldest_due_seconds", deliveries.oldestDueSeconds],
    ['events_5m{type="generation.failed"}', events.generationFailed],
    ['kicks_5m{outcome="refused"}', kicks.refused],
    ['last_kick_ok{function="generate"}', 1],
    ['last_kick_ok{function="deliver"}', 0],
    ['last_kick_acknowledged_after_seconds{function="generate"}', lastKicks.generate.acknowledgedAfterSeconds],
    ['cron_scheduled{job="prune"}', 1],
    ['cron_last_success_seconds{job="sweep"}', sweep.lastSuccessSeconds],
    ["file_removals_oldest_due_seconds", fileRemovals.oldestDueSeconds],
    ["models_unavailable", 0],
  ]) {
    expect(text.split("\n")).toContain(`keyframe_${metric} ${value}`);
  }
});

test("nothing waits → 0 for what is oldest; what is not known is left out", () => {
  const { predictions, kicks, lastKicks, workers, sweep } = FIGURES;
  const text = prometheusText(
    metricsOf({
      ...FIGURES,
      predictions: { ...predictions, oldestDueSeconds: null },
      kicks: { ...kicks, lastAcceptedSeconds: null },
      lastKicks: {
        ...lastKicks,
        generate: { ...lastKicks.generate, outcome: "unanswered", acknowledgedAfterSeconds: null },
      },
      workers: { ...workers, generate: { ...workers.generate, oldestKickSeconds: null } },
      sweep: { ...sweep, scheduled: false, lastSuccessSeconds: null },
    }),
  );
  expect(text).toContain("\nkeyframe_predictions_oldest_due_seconds 0\n");
  expect(text).not.toContain("keyframe_kicks_last_accepted_seconds");
  expect(text).not.toContain('keyframe_last_kick_ok{function="generate"}');
  expect(text).toContain('\nkeyframe_cron_scheduled{job="sweep"} 0\n');
  expect(text).not.toContain('keyframe_cron_last_success_seconds{job="sweep"}');
});

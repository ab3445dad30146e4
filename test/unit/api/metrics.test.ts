import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PROJECT_ROOT as ROOT } from "../../../local/stack/project-root.ts";
import type { ServiceFigures } from "../../../shared/contract/service.ts";
import { metricsText } from "../../../shared/api/routes/metrics.ts";
import { sampleFigures } from "./figures.ts";

// The format, by the running service's answer: test/api/health.test.ts.

const FIGURES = sampleFigures();
const samplesOf = (figures: ServiceFigures): Record<string, number> =>
  Object.fromEntries(
    [...metricsText(figures).matchAll(/^keyframe_(\S+) (.+)$/gm)].map(([, name, value]) => [name, Number(value)]),
  );

test("every figure, except a worker's size and the row that fails most → has a metric sample of its own", () => {
  const numbers =
    JSON.stringify(FIGURES, (key, value) => (key === "of" || key === "worst" ? null : value))
      .match(/\d+/g)
      ?.map(Number) ?? [];
  // Spending is stopped, settings exist, read-only, the job is scheduled and late, two kicks work, two workers are processes.
  const switches = Array(9).fill(1);
  // No model is unavailable, no transaction open, nobody blocked, no part unread, no work of two workers slow.
  switches.push(...Array(6).fill(0));
  expect(Object.values(samplesOf(FIGURES)).toSorted()).toEqual([...numbers, ...switches].toSorted());
});

test("a refused kick, a job that is off, nothing waiting → 0 in the metrics; unknown figures are left out", () => {
  const { predictions, deliveries, events, kicks, lastKicks, workers, jobs, fileRemovals } = FIGURES;
  const { generate, deliver } = lastKicks;
  const { sweep } = jobs;
  if (!sweep) throw new Error("There is no sample of a job.");
  const samples = samplesOf({
    ...FIGURES,
    lastKicks: {
      generate: { ...generate, outcome: "unanswered", acknowledgedAfterSeconds: null },
      deliver: { ...deliver, outcome: "answered", acknowledgedAfterSeconds: null },
    },
    workers: { ...workers, generate: { ...workers.generate, oldestKickSeconds: null } },
    jobs: { sweep: { ...sweep, scheduled: false, lastSuccessSeconds: null, isLate: false }, prune: sweep },
  });
  expect(samples).toMatchObject({
    'predictions{status="waiting"}': predictions.waiting,
    deliveries_oldest_due_seconds: deliveries.oldestDueSeconds,
    'deliveries{state="paused"}': deliveries.paused,
    'events_5m{type="generation.failed"}': events.generationFailed,
    'kicks_5m{outcome="refused"}': kicks.refused,
    'cron_last_success_seconds{job="prune"}': sweep.lastSuccessSeconds,
    'cron_late{job="prune"}': 1,
    file_removals_oldest_seconds: fileRemovals.oldestSeconds,
    'last_kick_ok{function="deliver"}': 0,
    'last_kick_status{function="deliver"}': deliver.status,
    'worker_oldest_kick_seconds{function="generate"}': 0,
    'cron_scheduled{job="sweep"}': 0,
    'cron_scheduled{job="prune"}': 1,
  });
  for (const unknown of ['last_kick_ok{function="generate"}', 'cron_last_success_seconds{job="sweep"}'])
    expect(samples).not.toHaveProperty([unknown]);
});

const page = await readFile(join(ROOT, "docs/operate.md"), "utf8");
const section = (title: string) => page.split(/^## /m).find((one) => one.startsWith(title)) ?? "";

test("every alert of docs/operate.md → uses a metric and a label value that exist", () => {
  const asked = section("When to alert").matchAll(/keyframe_((?!kick_secret|functions_url)\w+(?:\{\w+="[^"]+"\})?)/g);
  const names = [...asked].map(([, name = ""]) => name);
  expect(names.length).toBeGreaterThan(12);
  const samples = samplesOf(FIGURES);
  expect(names.filter((name) => samples[name] === undefined)).toEqual([]);
});

test("the events that functions and processes log → are those that docs/operate.md explains", async () => {
  const found = new Set<string>();
  for (const folder of ["supabase/functions", "shared", "worker"]) {
    for (const file of await readdir(join(ROOT, folder), { recursive: true })) {
      if (!file.endsWith(".ts")) continue;
      const source = await readFile(join(ROOT, folder, file), "utf8");
      for (const [, event = ""] of source.matchAll(/\blog(?:\.(?:info|warn|error)|\[[^\]]+\]+)\(\s*"([a-z_]+)"/g))
        found.add(event);
    }
  }
  const rows = section("Logs")
    .split("\n")
    .filter((row) => row.startsWith("| ") && row.includes("`"));
  const told = rows.flatMap((row) => [...(row.split(" | ")[0] ?? "").matchAll(/`(\w+)`/g)].map(([, event]) => event));
  expect(told.toSorted()).toEqual([...found].toSorted());
});

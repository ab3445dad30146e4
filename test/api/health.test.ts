import { expect, inject, test } from "vitest";
import { serviceFigures } from "../../shared/contract/service.ts";
import { SCHEMA_VERSION } from "../../shared/platform/schema-version.ts";
import { callApi, sendToApi } from "../support/api/call.ts";
import { useUser } from "../support/api/user.ts";
import { until } from "../support/until.ts";
import type { AllFigures } from "../unit/api/figures.ts";

const DEEP = "/api/health?deep=1";
const METRICS = "/api/metrics";
const key = () => inject("stack").secretKey;
const withKey = () => ({ headers: { apikey: key() } });

const user = useUser();

const readFigures = async () => {
  const { status, data } = await callApi(DEEP, withKey());
  expect([status, data]).toMatchObject([200, { database: "ok" }]);
  const figures = serviceFigures.parse(Object(data).figures);
  expect(figures.unread).toEqual([]);
  return figures as AllFigures;
};

test("deep health with the secret key → ok, the figures of the running service, and its jobs at work", async () => {
  const jobs = await until("each job every five seconds ended well", async () => {
    const figures = await readFigures();
    const often = ["sweep", "delete-parts", "merge-costs"];
    return often.every((name) => figures.jobs[name]?.lastSuccessSeconds != null) && figures.jobs;
  });
  expect(Object.values(jobs).map(({ scheduled, isLate }) => [scheduled, isLate])).toEqual(Array(8).fill([true, false]));
});

test("a kick that was answered → health says when it was made, and how soon the function claimed work, and no problem", async () => {
  await user.start("first-frame", { projectId: await user.createProject() });
  const { generate } = await until("the last kick acknowledged", async () => {
    const { lastKicks, kicks } = await readFigures();
    return lastKicks.generate.acknowledgedAfterSeconds !== null && kicks.accepted > 0 && lastKicks;
  });
  expect(generate.madeSeconds).toBeLessThan(600);
  expect(generate.acknowledgedAfterSeconds).toBeLessThan(30);
  const { data } = await callApi(DEEP, withKey());
  expect(String(Object(data).problems)).not.toContain("generate");
});

const SAMPLE = /^(keyframe_[a-z0-9_]+)(\{[a-z]+="[^"\\\n]*"(?:,[a-z]+="[^"\\\n]*")*\})? (\d+(?:\.\d+)?)$/;

test("metrics with the secret key → text format, each sample once under its help and type, the same figures as health", async () => {
  const { jobs } = await readFigures();
  const response = await sendToApi(METRICS, { token: key() });
  const type = "text/plain; version=0.0.4; charset=utf-8";
  expect([response.status, response.headers.get("content-type")]).toEqual([200, type]);
  const text = await response.text();
  expect(text.endsWith("\n")).toBe(true);
  const seen: Record<"HELP" | "TYPE" | "sample", Set<string>> = { HELP: new Set(), TYPE: new Set(), sample: new Set() };
  for (const line of text.slice(0, -1).split("\n")) {
    const [, kind, of = ""] = /^# (HELP|TYPE) (\S+) .+$/.exec(line) ?? [];
    if (kind === "HELP" || kind === "TYPE") seen[kind].add(of);
    else {
      expect([line, seen.TYPE.has(SAMPLE.exec(line)?.[1] ?? "")]).toEqual([line, true]);
      const sample = line.slice(0, line.lastIndexOf(" "));
      expect(seen.sample.has(sample), "a sample twice").toBe(false);
      seen.sample.add(sample);
    }
  }
  expect(seen.HELP).toEqual(seen.TYPE);
  expect(seen.sample.size).toBeGreaterThan(25);
  for (const name of Object.keys(jobs)) expect(text).toContain(`keyframe_cron_scheduled{job="${name}"} 1\n`);
});

// Which keys are the right one: test/security/acting-servers.test.ts.
test("deep health or metrics with a session, a wrong key, or none → 401 without figures; plain health is open to all", async () => {
  for (const options of [{ token: user.token, ...withKey() }, { headers: { apikey: `${key().slice(0, -1)}~` } }, {}]) {
    for (const path of [DEEP, METRICS]) {
      const { status, error, data } = await callApi(path, options);
      expect([status, error?.code, data]).toEqual([401, "unauthorized", null]);
    }
    const { status, data } = await callApi("/api/health", options);
    expect([status, data]).toEqual([200, { status: "ok", database: "ok", schemaVersion: SCHEMA_VERSION }]);
  }
});

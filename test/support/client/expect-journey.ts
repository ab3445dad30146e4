import { expect } from "vitest";
import type { JourneyReport } from "./journey.ts";

const refused = (code: string, status: number, fields: string[] = []) => ({ code, status, fields, hasRequestId: true });

/** What the journey must have seen, in whatever runtime it was made. */
export function expectJourney(report: JourneyReport): void {
  const { project, first, last, video, again, ended, hook, refusals } = report;
  const { projectId } = project;
  expect(project).toMatchObject({ title: "Harbour", description: "" });
  expect(report.referenceImagePath).toMatch(/^projects\/.+\.png$/);
  for (const made of [first, last, video]) {
    expect(made).toMatchObject({ projectId, status: "succeeded", error: null });
    expect(made.downloaded).toBe(made.output.bytes);
    const told = report.seen[made.step] ?? [];
    expect([told[0], told.at(-1)]).toEqual(["queued", "succeeded"]);
  }
  expect(video.output.durationSeconds).toBeCloseTo(5, 0);

  expect(again[1]?.predictionId).toBe(again[0]?.predictionId);
  expect([ended.predictionId, ended.status]).toEqual([again[0]?.predictionId, "succeeded"]);
  expect(report.reads).toEqual(["succeeded", "succeeded", "succeeded", "succeeded"]);
  expect(report.listed).toEqual([ended, video, last, first].map(({ predictionId }) => predictionId));
  expect(report.projects).toEqual([projectId]);
  expect(report.changed).toMatchObject({ projectId, title: "Harbour, second draft", textPrompt: "A harbour at dawn" });
  expect(report.whole).toMatchObject({ title: "Harbour, second draft" });
  expect(report.whole.predictions["first-frame"]?.predictionId).toBe(ended.predictionId);
  expect(report.whole.predictions.video?.predictionId).toBe(video.predictionId);

  const { webhookId } = hook;
  expect(report.test).toMatchObject({ webhookId, eventType: "webhook.test" });
  expect(report.paused).toMatchObject({ webhookId, enabled: false, disabledReason: "by_owner" });
  expect(report.shown.secret).toBe(hook.secret);
  expect(report.rotated.secret).toMatch(/^whsec_/);
  expect(report.rotated.secret).not.toBe(hook.secret);
  expect(report.deliveries.sort()).toEqual([
    ...Array.from({ length: 4 }, () => "generation.succeeded"),
    "webhook.test",
  ]);
  expect(report.redelivered.deliveryId).toBe(report.test.deliveryId);
  expect(report.recovered).toEqual({ recovered: expect.any(Number) });
  expect(report.hooks.webhooks.map((one) => one.webhookId)).toEqual([webhookId]);
  expect([report.readHook.webhookId, report.deletedHook.webhookId]).toEqual([webhookId, webhookId]);

  expect(refusals).toEqual({
    empty: refused("invalid_request", 400, ["title", "textPrompt"]),
    foreign: refused("not_found", 404),
    gone: refused("not_found", 404),
    late: refused("generation_ended", 409),
    mismatch: refused("idempotency_mismatch", 422),
    noImage: refused("unsupported_media_type", 415),
    unauthorized: refused("unauthorized", 401),
    wait: refused("not_found", 404),
    aborted: "left",
  });
  expect(report.deleted.projectId).toBe(projectId);
  expect(report.afterwards).toEqual(refused("not_found", 404));
}

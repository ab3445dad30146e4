import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { ProjectPage } from "../../shared/contract/projects.ts";
import { openDatabase } from "../support/api/database.ts";
import { drawImage } from "../support/media/images.ts";
import { signUp } from "../support/api/user.ts";
import { dataOf, register } from "../support/api/webhooks.ts";
import { type Place, places } from "../support/openapi/document.ts";
import type { Known } from "../support/openapi/fuzz-json.ts";
import { type FuzzResult, runPlans } from "../support/openapi/fuzz-run.ts";
import { prepareScene, type Scene } from "../support/openapi/scene.ts";
import { watchFunction } from "../support/security/memory.ts";

// Whatever is sent to an operation, the answer is one that openapi.json has for it, within five seconds and never a 5xx.
// A failure prints the smallest request it could find and a seed: KEYFRAME_FUZZ_SEED=<seed> sends the same requests again.
// The long run, KEYFRAME_FUZZ_RUNS=100000, allows two seconds, and the function no more than a fifth more memory.

const USUAL_RUNS = 3_000;
const RUNS = Number(Deno.env.get("KEYFRAME_FUZZ_RUNS") ?? USUAL_RUNS);
const isLong = RUNS > USUAL_RUNS;
const LONGEST_MS = 240_000 * Math.max(1, RUNS / USUAL_RUNS);
const seed = Number(Deno.env.get("KEYFRAME_FUZZ_SEED") ?? crypto.getRandomValues(new Int32Array(1))[0]);

const sql = openDatabase();
let scene: Scene;
let results: Map<string, Promise<FuzzResult>>;
let refill: ReturnType<typeof setInterval>;
let memory: ReturnType<typeof setInterval> | undefined;
const watch = watchFunction("api");

/** What takes no input has little to try. */
const takesInput = places.filter(
  ({ described }) => described.requestBody ?? /"in":"(path|query)"/.test(JSON.stringify(described)),
);
const isForTheProject = ({ described: { security } }: Place) =>
  security.length === 1 && security[0]?.secretKey !== undefined;
const others = places.filter((place) => !takesInput.includes(place));
const OF_OTHERS = 20;
const share = Math.ceil((RUNS - others.length * OF_OTHERS) / takesInput.length);

beforeAll(async () => {
  scene = await prepareScene(sql);
  const { user, newcomer, real } = scene;
  const some = (make: () => Promise<string>) => Promise.all(Array.from({ length: 10 }, make));
  const strangers = await signUp();
  const foreign = (await some(() => strangers.createProject())).slice(0, 7);
  const throwaway = await some(() => user.createProject());
  const webhooks = await some(async () => (await register(newcomer, { url: scene.receiver.url })).webhookId);
  const { nextCursor } = dataOf(await user.call("/api/projects?limit=1"), 200) as ProjectPage; // its shape: test/api
  const { webhookId, deliveryId } = await deliveryOf(webhooks[0] ?? "");
  const running = await scene.freshRun();
  const { projectId = "", firstFrameId = "", lastFrameId = "", videoId = "", referenceImagePath = "" } = real;
  const predictionId = [firstFrameId, lastFrameId, videoId];
  const urls = ["http://127.0.0.1:65535/a", scene.receiver.url];

  const known: Known = {
    projectId: [projectId],
    predictionId,
    firstFramePredictionId: predictionId,
    lastFramePredictionId: predictionId,
    referenceImagePath: [referenceImagePath],
    webhookId: [webhookId],
    deliveryId: [deliveryId],
    url: urls,
    limit: ["1", "20", "100"],
    cursor: [nextCursor ?? ""],
  };
  const instead: Record<string, Known> = {
    cancelPrediction: { predictionId: [running.videoId ?? "", ...predictionId] },
    deleteProject: { projectId: throwaway },
    // One that may be switched off gets no tests.
    changeWebhook: { webhookId: webhooks.slice(1, 2) },
    deleteWebhook: { webhookId: webhooks.slice(2) },
    // Few may reach the provider: the others ask for another user's project.
    startFirstFrame: { projectId: [projectId, ...foreign] },
    startLastFrame: { projectId: [projectId, ...foreign], firstFramePredictionId: [firstFrameId] },
    startVideo: {
      projectId: [projectId, ...foreign],
      firstFramePredictionId: [firstFrameId],
      lastFramePredictionId: [lastFrameId],
      durationSeconds: ["5", "10"],
    },
  };
  const image = await drawImage();
  const plans = places.map((place) => ({
    place,
    runs: others.includes(place) ? OF_OTHERS : share,
    // Endpoints get no events but the tests, because the newcomer has no projects.
    token: isForTheProject(place)
      ? inject("stack").secretKey
      : (place.described.security.length === 2 ? newcomer : user).token,
    asker: { known: { ...known, ...instead[place.id] }, image },
  }));
  // The limits are for all users of the shared stack, the buckets are their own.
  const fill = () => sql`delete from keyframe_private.rate_buckets where owner_id in ${sql([user.id, newcomer.id])}`;
  refill = setInterval(() => fill().catch(() => undefined), 250);
  // What cannot be sampled is missed in the summary.
  if (isLong) memory = setInterval(() => watch.sample().catch(() => undefined), 1000);
  results = runPlans(plans, seed, {
    timeoutMs: isLong ? 2000 : 5000,
    longestMs: LONGEST_MS,
    onAnswer: watch.count,
  });
});

async function deliveryOf(webhookId: string) {
  const { data } = await scene.newcomer.post(`/api/webhooks/${webhookId}/test`, {});
  return data as { webhookId: string; deliveryId: string }; // exactly checked in test/api/webhooks-deliveries.test.ts
}

afterAll(async () => {
  clearInterval(refill);
  clearInterval(memory);
  await scene?.receiver.close();
});

test.each(places)(
  "$id, sent anything → an enveloped 4xx or its documented success",
  async ({ id, described }) => {
    const result = await results.get(id);
    expect(result?.report ?? null).toBe(null);
    // At least one request got through to the end, or little was tried.
    const got = [...(result?.statuses.keys() ?? [])].filter((status) => status < 300);
    const success = Object.keys(described.responses)
      .map(Number)
      .find((status) => status < 300);
    expect(got).toContain(success);
  },
  LONGEST_MS + 60_000,
);

test(
  `${RUNS} requests were sent, and hardly any was refused for being too many`,
  async () => {
    const counts = new Map<number, number>();
    for (const [id, ended] of results) {
      const { statuses } = await ended;
      if (Deno.env.has("KEYFRAME_FUZZ_SEED")) console.log(id, JSON.stringify([...statuses].toSorted()));
      for (const [status, count] of statuses) counts.set(status, (counts.get(status) ?? 0) + count);
    }
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
    const told = JSON.stringify([...counts].toSorted());
    const figures = isLong ? watch.summary() : undefined;
    if (isLong) console.log(`${total} requests, ${told}, ${JSON.stringify(figures)}`);
    expect(total).toBeGreaterThanOrEqual(RUNS);
    expect((counts.get(429) ?? 0) / total, told).toBeLessThan(0.02);
    const good = [...counts].reduce((sum, [status, count]) => sum + (status < 400 ? count : 0), 0);
    expect(good / total, told).toBeGreaterThan(0.1);
    if (!isLong) return;
    expect(figures?.slowestMs).toBeLessThan(2000);
    expect((figures?.endMb ?? 0) / (figures?.warmMb ?? 1)).toBeLessThan(1.2);
  },
  LONGEST_MS + 60_000,
);

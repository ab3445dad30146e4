import fc from "fast-check";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { residentMb } from "../../lab/bench/memory/process-usage.ts";
import { openDatabase } from "../support/api/database.ts";
import { signUp } from "../support/api/user.ts";
import { register } from "../support/api/webhooks.ts";
import { drawImage } from "../support/media/images.ts";
import { checkAnswer } from "../support/openapi/check.ts";
import { type Place, places } from "../support/openapi/document.ts";
import { type FuzzRequest, plainRequest, requestsFor, SIGNED_IN } from "../support/openapi/fuzz-requests.ts";
import { prepareScene, type Real, type Scene, withReal } from "../support/openapi/scene.ts";
import { unwatchedFetch } from "../support/openapi/watch.ts";

// Whatever is sent to an operation, the answer is one that openapi.json has for it, within five seconds and never a 5xx.
// A failure prints the smallest request it could find and a seed: KEYFRAME_FUZZ_SEED=<seed> sends the same requests again.
// The long run, KEYFRAME_FUZZ_RUNS=100000, allows two seconds, and the function no more than a fifth more memory.

const USUAL_RUNS = 2_000;
const RUNS = Number(Deno.env.get("KEYFRAME_FUZZ_RUNS") ?? USUAL_RUNS);
const isLong = RUNS > USUAL_RUNS;
const LONGEST_MS = 240_000 * Math.max(1, RUNS / USUAL_RUNS);
const seed = Number(Deno.env.get("KEYFRAME_FUZZ_SEED") ?? crypto.getRandomValues(new Int32Array(1))[0]);
/** A report shows no more than this of a request, or of what was wrong. */
const LONGEST_TEXT = 1500;
const IN_FLIGHT = 8;

/** How often each status came, and the report of what failed: null when nothing did. */
type Result = { statuses: Map<number, number>; report: string | null };

const sql = openDatabase();
let scene: Scene;
let image: Uint8Array<ArrayBuffer>;
let reals: Record<string, Real[]>;
const ended = new Map(places.map(({ id }) => [id, Promise.withResolvers<Result>()]));
let refill: ReturnType<typeof setInterval>;
let memory: ReturnType<typeof setInterval> | undefined;
/** What the long run watches: the slowest answer, and the function's memory after so many of them. */
const watch = { answers: 0, slowestMs: 0, samples: [] as { answers: number; mb: number }[] };

async function sampleMemory(): Promise<void> {
  const mb = await residentMb(inject("stack").functionPids.api ?? 0);
  watch.samples.push({ answers: watch.answers, mb });
}

/** The median of the memory within a part of the long run; NaN when it was not looked at often enough. */
function medianMb(from: number, to: number): number {
  const within = watch.samples.filter(({ answers }) => answers > from * watch.answers && answers <= to * watch.answers);
  const sorted = within.map(({ mb }) => mb).toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** What takes no input has little to try. */
const takesInput = places.filter(
  ({ described }) => described.requestBody ?? /"in":"(path|query)"/.test(JSON.stringify(described)),
);
const others = places.filter((place) => !takesInput.includes(place));
const OF_OTHERS = 5;
const share = Math.ceil((RUNS - others.length * OF_OTHERS) / takesInput.length);

beforeAll(async () => {
  [scene, image] = await Promise.all([prepareScene(sql), drawImage()]);
  const { user, newcomer, receiver } = scene;
  const some = (make: () => Promise<Real>) => Promise.all(Array.from({ length: 10 }, make));
  const stranger = await signUp();
  const foreign = await some(async () => ({ projectId: await stranger.createProject() }));
  // Without one of its own, what changes a take could find that it was deleted.
  const take = await user.finish(await user.start("first-frame", { projectId: await user.createProject() }));
  const webhooks = await some(async () => ({ webhookId: (await register(newcomer, { url: receiver.url })).webhookId }));
  const sent = await newcomer.post(`/api/webhooks/${webhooks[0]?.webhookId}/test`, {});
  scene.real = { ...scene.real, ...webhooks[0], deliveryId: Object(sent.data).deliveryId };
  // Few may reach the provider: the others ask for another user's project.
  const starts = [{}, ...foreign.slice(0, 7)];
  reals = {
    cancelPrediction: [await scene.freshRun(), {}],
    deletePrediction: [{ projectId: take.projectId, firstFrameId: take.predictionId }],
    deleteProject: await some(() => scene.freshProject()),
    deleteFilm: await some(() => scene.freshFilm()),
    // One that may be switched off gets no tests.
    changeWebhook: webhooks.slice(1, 2),
    deleteWebhook: webhooks.slice(2),
    ...{ startFirstFrame: starts, startLastFrame: starts, startVideo: starts },
  };
  // The limits are for all users of the shared stack, the buckets are their own.
  const fill = () => sql`delete from keyframe_private.rate_buckets where owner_id in ${sql([user.id, newcomer.id])}`;
  refill = setInterval(() => fill().catch(() => undefined), 250);
  // What cannot be sampled is missed in the summary.
  if (isLong) memory = setInterval(() => sampleMemory().catch(() => undefined), 1000);
  const waiting = [...places];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { resolve, reject } = ended.get(next.id) ?? {};
      await tryOut(next).then(resolve, reject);
    }
  };
  for (let worker = 0; worker < IN_FLIGHT; worker++) void work();
});
afterAll(async () => {
  clearInterval(refill);
  clearInterval(memory);
  await scene?.receiver.close();
});

async function tryOut(place: Place): Promise<Result> {
  const statuses = new Map<number, number>();
  const { security, tags, "x-examples": given } = place.described;
  const examples = (reals[place.id] ?? [{}]).flatMap((real) =>
    given.map((example) => withReal(example, { ...scene.real, ...real })),
  );
  const isForTheProject = security.length === 1 && security[0]?.secretKey !== undefined;
  // Endpoints get no events but the tests, because the newcomer has no projects.
  const token = isForTheProject
    ? inject("stack").secretKey
    : (tags.includes("Webhooks") ? scene.newcomer : scene.user).token;
  const property = fc.asyncProperty(requestsFor(place, examples, image), async (request) => {
    const { status, faults } = await send(request, token);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (status >= 500) faults.push(`the status is ${status}`);
    if (faults.length > 0) throw new Error(faults.join("; "));
  });
  const runs = others.includes(place) ? OF_OTHERS : share;
  const { failed, interrupted, numRuns, counterexamplePath, counterexample, errorInstance } = await fc.check(property, {
    seed,
    numRuns: runs,
    examples: examples.slice(0, 1).map((example) => [plainRequest(place, example, image)]),
    interruptAfterTimeLimit: LONGEST_MS,
  });
  if (!failed) {
    const isWhole = numRuns === runs && !interrupted;
    return { statuses, report: isWhole ? null : `Only ${numRuns} of ${runs} requests were made in time.` };
  }
  const report = [
    `Request ${numRuns}, and smaller ones after it, failed. KEYFRAME_FUZZ_SEED=${seed} sends the same again (path ${counterexamplePath}).`,
    fc.stringify(counterexample?.[0]).slice(0, LONGEST_TEXT),
    String(errorInstance).slice(0, LONGEST_TEXT),
  ];
  return { statuses, report: report.join("\n") };
}

async function send({ method, path, headers: given, body }: FuzzRequest, token: string) {
  const isSignedIn = given.authorization === SIGNED_IN;
  const headers = { ...given, ...(isSignedIn ? { authorization: `Bearer ${token}` } : {}) };
  const url = `${inject("stack").url}/functions/v1${path}`;
  const signal = AbortSignal.timeout(isLong ? 2000 : 5000);
  const began = performance.now();
  const response = await unwatchedFetch(url, { method, headers, ...(body === undefined ? {} : { body }), signal });
  const text = await response.text();
  watch.answers += 1;
  watch.slowestMs = Math.max(watch.slowestMs, Math.round(performance.now() - began));
  const { status } = response;
  const at = new URL(url).pathname.slice("/functions/v1".length);
  return { status, faults: checkAnswer({ method, path: at, status, headers: response.headers, text }) };
}

test.each(places)(
  "$id, sent anything → an enveloped 4xx or its documented success",
  async ({ id, described }) => {
    const { report, statuses } = (await ended.get(id)?.promise) ?? {};
    expect(report).toBe(null);
    // At least one request got through to the end, or little was tried.
    const got = [...(statuses?.keys() ?? [])].filter((status) => status < 300);
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
    for (const [id, { promise }] of ended) {
      const { statuses } = await promise;
      if (Deno.env.has("KEYFRAME_FUZZ_SEED")) console.log(id, JSON.stringify([...statuses].toSorted()));
      for (const [status, count] of statuses) counts.set(status, (counts.get(status) ?? 0) + count);
    }
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
    const told = JSON.stringify([...counts].toSorted());
    expect(total).toBeGreaterThanOrEqual(RUNS);
    expect((counts.get(429) ?? 0) / total, told).toBeLessThan(0.02);
    const good = [...counts].reduce((sum, [status, count]) => sum + (status < 400 ? count : 0), 0);
    expect(good / total, told).toBeGreaterThan(0.1);
    if (!isLong) return;
    // The third fifth comes after the warm-up.
    const [warmMb, endMb] = [medianMb(0.4, 0.6), medianMb(0.8, 1)];
    console.log(`${total} requests, ${told}, slowest ${watch.slowestMs} ms, ${warmMb} MB → ${endMb} MB`);
    expect(watch.slowestMs).toBeLessThan(2000);
    expect(endMb / warmMb).toBeLessThan(1.2);
  },
  LONGEST_MS + 60_000,
);

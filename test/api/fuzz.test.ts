import fc from "fast-check";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { fillBuckets } from "../support/api/buckets.ts";
import { openDatabase } from "../support/api/database.ts";
import { signUp } from "../support/api/user.ts";
import { register } from "../support/api/webhooks.ts";
import { LONGER } from "../support/longer.ts";
import { drawImage } from "../support/media/images.ts";
import { checkAnswer } from "../support/openapi/check.ts";
import { type Place, places } from "../support/openapi/document.ts";
import { type FuzzRequest, plainRequest, requestsFor, SIGNED_IN } from "../support/openapi/fuzz-requests.ts";
import { prepareScene, type Real, type Scene, withReal } from "../support/openapi/scene.ts";
import { unwatchedFetch } from "../support/openapi/watch.ts";

// Whatever is sent to an operation, the answer is one that openapi.json has for it, within half a minute and never a 5xx.
// A failure prints the smallest request it could find and a seed: KEYFRAME_FUZZ_SEED=<seed> sends the same requests again.

const RUNS = 1_000 * LONGER;
const MAX_MS = 120 * Math.max(2_000, RUNS);
const seed = Number(Deno.env.get("KEYFRAME_FUZZ_SEED") ?? crypto.getRandomValues(new Int32Array(1))[0]);

const sql = openDatabase();
let scene: Scene;
let image: Uint8Array<ArrayBuffer>;
let reals: Record<string, Real[]>;
let refill: ReturnType<typeof setInterval>;
beforeAll(async () => {
  [scene, image] = await Promise.all([prepareScene(sql), drawImage()]);
  const { user, newcomer, receiver, doomed } = scene;
  const some = (make: () => Promise<Real>) => Promise.all(Array.from({ length: 10 }, make));
  const stranger = await signUp();
  const foreign = await some(async () => ({ projectId: await stranger.createProject() }));
  const webhooks = await some(async () => ({ webhookId: (await register(newcomer, { url: receiver.url })).webhookId }));
  const sent = await newcomer.post(`/api/webhooks/${webhooks[0]?.webhookId}/test`, {});
  scene.real = { ...scene.real, ...webhooks[0], deliveryId: Object(sent.data).deliveryId };
  // Few may reach the provider: the others ask for another user's project.
  const starts = [{}, ...foreign.slice(0, 7)];
  // The limits are for all users of the shared stack, the buckets are their own.
  const fill = () => Promise.all([user, newcomer].map(({ id }) => fillBuckets(sql, id)));
  await fill();
  refill = setInterval(() => fill().catch(() => undefined), 250);
  reals = {
    cancelPrediction: [await doomed.cancelPrediction(), {}],
    // Without one of its own, what changes a take could find that it was deleted.
    deletePrediction: [await doomed.deletePrediction()],
    deleteProject: await some(doomed.deleteProject),
    deleteFilm: await some(doomed.deleteFilm),
    deleteElement: await some(doomed.deleteElement),
    shareFilm: await some(doomed.deleteFilm),
    revokeShare: await some(doomed.revokeShare),
    revokeKey: await some(doomed.revokeKey),
    // One that may be switched off gets no tests.
    changeWebhook: webhooks.slice(1, 2),
    deleteWebhook: webhooks.slice(2),
    ...{ startFirstFrame: starts, startLastFrame: starts, startVideo: starts },
  };
});
afterAll(async () => {
  clearInterval(refill);
  await scene?.receiver.close();
});

/** What takes no input has little to try. */
const takesInput = ({ described }: Place) =>
  described.requestBody !== undefined || /"in":"(path|query)"/.test(JSON.stringify(described));
const share = Math.ceil(RUNS / places.filter(takesInput).length);

test.concurrent.each(places)(
  "$id, sent anything → an enveloped 4xx or its documented success",
  async (place) => {
    const { security, tags, responses, "x-examples": given } = place.described;
    const examples = (reals[place.id] ?? [{}]).flatMap((real) =>
      given.map((example) => withReal(example, { ...scene.real, ...real })),
    );
    const isForTheProject = security.length === 1 && security[0]?.secretKey !== undefined;
    // Endpoints get no events but the tests, because the newcomer has no projects.
    const user = tags.includes("Webhooks") ? scene.newcomer : scene.user;
    const token = isForTheProject ? inject("stack").secretKey : user.token;
    const statuses = new Set<number>();
    const property = fc.asyncProperty(requestsFor(place, examples, image), async (request) => {
      // Who has credit starts nothing without a balance: for somebody who starts nothing here.
      const about = place.id === "addCredit" ? { "keyframe-user": scene.newcomer.id } : {};
      const { status, faults } = await send({ ...request, headers: { ...about, ...request.headers } }, token);
      statuses.add(status);
      if (status >= 500) faults.push(`the status is ${status}`);
      if (faults.length > 0) throw new Error(faults.join("; ").slice(0, 1500));
    });
    await fc.assert(property, {
      seed,
      numRuns: takesInput(place) ? share : 5,
      examples: examples.slice(0, 1).map((example) => [plainRequest(place, example, image)]),
    });
    // At least one request got through to the end, or little was tried.
    expect([...statuses]).toContain(
      Object.keys(responses)
        .map(Number)
        .find((status) => status < 300),
    );
  },
  MAX_MS,
);

async function send({ method, path, headers: given, body }: FuzzRequest, token: string) {
  const headers = { ...given, ...(given.authorization === SIGNED_IN ? { authorization: `Bearer ${token}` } : {}) };
  const url = `${inject("stack").url}/functions/v1${path}`;
  const signal = AbortSignal.timeout(30_000);
  const response = await unwatchedFetch(url, { method, headers, ...(body === undefined ? {} : { body }), signal });
  const text = await response.text();
  const { status } = response;
  const at = new URL(url).pathname.slice("/functions/v1".length);
  return { status, faults: checkAnswer({ method, path: at, status, headers: response.headers, text }) };
}

import {
  createKeyframeClient,
  KeyframeError,
  mustSucceed,
  type Prediction,
  type StepBody,
} from "../../../client/index.ts";

/** Where the service is, who calls, and where webhooks go. */
export type JourneyInput = { url: string; apikey: string; token: string; hookUrl: string; image: number[] };

/** All that an app does with the client, by every operation, written for any runtime. Returns what it saw, as plain JSON. */
export async function journey({ url, apikey, token, hookUrl, image }: JourneyInput) {
  const keyframe = createKeyframeClient({ url, apikey, getToken: () => token });
  const refusal = async (call: Promise<unknown>) => {
    const error: unknown = await call.then(
      () => "not refused",
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof KeyframeError)) return String(error);
    const { code, status, details, requestId } = error;
    return { code, status, fields: details.map(({ path }) => path), hasRequestId: requestId !== null };
  };
  const all = async <Row>(rows: AsyncIterable<Row>): Promise<Row[]> => {
    const list: Row[] = [];
    for await (const row of rows) list.push(row);
    return list;
  };

  const { projectId } = await keyframe.projects.create({ title: "Harbour", textPrompt: "A harbour at dawn" });
  const { webhookId, secret } = await keyframe.webhooks.create({ url: hookUrl, description: "journey" });
  const { referenceImagePath } = await keyframe.uploadReferenceImage(new Uint8Array(image));

  const make = async <S extends keyof StepBody>(step: S, body: StepBody[S]) => {
    const statuses: string[] = [];
    const onProgress = ({ status }: Prediction) => void statuses.push(status);
    const started = await keyframe.generate(step, body);
    const made = mustSucceed(await keyframe.waitFor(started, { onProgress, timeoutMs: 60_000 }));
    const file = await (await fetch(made.output.url)).arrayBuffer();
    return { ...made, statuses, downloaded: file.byteLength };
  };
  await keyframe.estimate("first-frame", { projectId });
  const first = await make("first-frame", { projectId, referenceImagePath });
  const quote = await keyframe.estimate("last-frame", { projectId }, { quote: true });
  const last = await make("last-frame", { projectId, prompt: "The same harbour at night" });
  const { estimateMicros } = await keyframe.estimate("video", { projectId, durationSeconds: 5 });
  const video = await make("video", { projectId, durationSeconds: 5 });

  const idempotencyKey = crypto.randomUUID?.() ?? String(Math.random());
  const ref = await keyframe.generate("first-frame", { projectId }, { idempotencyKey });
  const again = await keyframe.generate("first-frame", { projectId }, { idempotencyKey });
  const ended = await keyframe.waitFor(ref);
  const reads: string[] = [];
  for (let turn = 1; turn <= 4; turn++) reads.push((await keyframe.predictions.read(ref)).status);

  const changed = await refusal(keyframe.startQuote(quote));

  const listed = await all(keyframe.predictions.each(projectId, { limit: 2 }));
  const projects = await all(keyframe.projects.each({ limit: 1 }));
  await keyframe.projects.change(projectId, { title: "Harbour, second draft" });
  const { title, predictions } = await keyframe.projects.read(projectId);
  const { steps } = await keyframe.models();
  const usage = await keyframe.usage({ groupBy: "step" });
  const film = await keyframe.films.create({ title: "The pier" });
  const element = await keyframe.elements.create({ name: "Anna" });
  const { elementId } = await keyframe.elements.change(element.elementId, { text: "Red" }, { unchangedSince: element });
  const cast = { projectIds: [projectId], elementIds: [elementId] };
  await keyframe.films.change(film.filmId, cast, { unchangedSince: film });
  const films = await all(keyframe.films.each({ limit: 1 }));
  const { shots, elementIds } = await keyframe.films.read(film.filmId);
  const { shareId, token: link } = await keyframe.films.share(film.filmId);
  const anybody = createKeyframeClient({ url, apikey, getToken: () => null }).films;
  const { title: seen, shots: seenShots } = await anybody.readShared(link);
  const shares = await keyframe.films.shares(film.filmId);
  await keyframe.films.revokeShare(film.filmId, shareId);
  const revoked = await refusal(anybody.readShared(link));
  const elements = await all(keyframe.elements.each({ limit: 1 }));
  await keyframe.elements.delete((await keyframe.elements.read(elementId)).elementId);
  const lacking = (await keyframe.films.estimate(film.filmId, "video")).shots;
  const filled = (await keyframe.films.generate(film.filmId, "video")).predictions;
  await keyframe.films.delete(film.filmId);

  const test = await keyframe.webhooks.test(webhookId);
  const shown = await keyframe.webhooks.secret(webhookId);
  const rotated = await keyframe.webhooks.rotate(webhookId, { overlapHours: 0 });
  const deliveries = await all(keyframe.webhooks.eachDelivery(webhookId, { limit: 2 }));
  await keyframe.webhooks.redeliver(test.deliveryId);
  const delivery = await keyframe.webhooks.readDelivery(test.deliveryId);
  await keyframe.webhooks.recover(webhookId, { since: first.createdAt });
  await keyframe.webhooks.change(webhookId, { enabled: false });
  const { webhooks } = await keyframe.webhooks.list();
  const paused = await keyframe.webhooks.read(webhookId);
  await keyframe.webhooks.delete(webhookId);

  const { keyId, key } = await keyframe.keys.create({ name: "Script", may: "read" });
  const { expiresAt: keyEnd } = await keyframe.keys.revoke(keyId);
  const keys = await keyframe.keys.list();

  const nobody = createKeyframeClient({ url, apikey, getToken: () => "no.real.token" });
  const elsewhere = "00000000-0000-4000-8000-000000000000";
  const refusals = {
    empty: await refusal(keyframe.projects.create({ title: "", textPrompt: "" })),
    foreign: await refusal(keyframe.predictions.read({ projectId: elsewhere, step: "video" })),
    gone: await refusal(keyframe.webhooks.read(webhookId)),
    late: await refusal(keyframe.cancel(ended)),
    mismatch: await refusal(keyframe.generate("first-frame", { projectId, prompt: "Another" }, { idempotencyKey })),
    noImage: await refusal(keyframe.uploadReferenceImage(new Uint8Array([1, 2, 3]))),
    unauthorized: await refusal(nobody.projects.list()),
    wait: await refusal(keyframe.waitFor({ ...ref, predictionId: elsewhere })),
    aborted: await refusal(keyframe.waitFor(ref, { signal: AbortSignal.abort("left") })),
  };
  const { hidden } = await keyframe.predictions.setHidden(ref, true);
  await keyframe.predictions.delete(ref);
  await keyframe.projects.delete(projectId);
  return {
    made: [first, last, video],
    ...{ estimateMicros, again, ended, reads, listed, projects, title, predictions, steps },
    ...{ usage, films, shots, lacking, filled },
    shared: [
      seen,
      seenShots[0]?.title,
      seenShots[0]?.video?.url.includes("/keyframe-outputs/"),
      shares.length,
      revoked,
    ],
    ...{ elementIds, elements, keys, key, keyEnd },
    ...{ changed, secret, shown, rotated, deliveries, delivery, test, webhooks, paused, refusals, hidden },
    afterwards: await refusal(keyframe.projects.read(projectId)),
  };
}

export type JourneyReport = Awaited<ReturnType<typeof journey>>;

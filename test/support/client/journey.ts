import {
  createKeyframeClient,
  KeyframeError,
  mustSucceed,
  type Prediction,
  type StepBody,
} from "../../../client/index.ts";

/** Where the service is, who calls, and where webhooks go. */
export type JourneyInput = { url: string; apikey: string; token: string; hookUrl: string; image: number[] };

/** All that an app does with the client, written for any runtime. Returns what it saw, as plain JSON. */
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

  const project = await keyframe.createProject({ title: "Harbour", textPrompt: "A harbour at dawn" });
  const { projectId } = project;
  const hook = await keyframe.webhooks.create({ url: hookUrl, description: "journey" });
  const { webhookId } = hook;
  const { referenceImagePath } = await keyframe.uploadReferenceImage(new Uint8Array(image));

  const seen: Record<string, string[]> = {};
  const make = async <S extends keyof StepBody>(step: S, body: StepBody[S]) => {
    const statuses: string[] = [];
    seen[step] = statuses;
    const onProgress = ({ status }: Prediction) => void statuses.push(status);
    const made = mustSucceed(
      await keyframe.waitFor(await keyframe.generate(step, body), { onProgress, timeoutMs: 60_000 }),
    );
    const file = await (await fetch(made.output.url)).arrayBuffer();
    return { ...made, downloaded: file.byteLength };
  };
  const first = await make("first-frame", { projectId, referenceImagePath });
  const last = await make("last-frame", { projectId, prompt: "The same harbour at night" });
  const video = await make("video", { projectId, durationSeconds: 5 });

  const idempotencyKey = crypto.randomUUID?.() ?? String(Math.random());
  const again = [];
  for (let turn = 1; turn <= 2; turn++)
    again.push(await keyframe.generate("first-frame", { projectId }, { idempotencyKey }));
  const ref = { projectId, step: "first-frame", predictionId: again[0]?.predictionId ?? "" } as const;
  const ended = await keyframe.waitFor(ref);
  const reads: string[] = [];
  for (let turn = 1; turn <= 4; turn++) reads.push((await keyframe.readPrediction(ref)).status);

  const listed: string[] = [];
  for await (const one of keyframe.eachPrediction(projectId, { limit: 2 })) listed.push(one.predictionId);
  const projects = [];
  for await (const one of keyframe.eachProject({ limit: 1 })) projects.push(one.projectId);
  const changed = await keyframe.changeProject(projectId, { title: "Harbour, second draft" });
  const whole = await keyframe.readProject(projectId);
  const models = await keyframe.models();
  const estimates = [
    await keyframe.estimate("first-frame", { projectId }),
    await keyframe.estimate("last-frame", { projectId }),
    await keyframe.estimate("video", { projectId, durationSeconds: 5 }),
  ].map(({ model, estimateMicros }) => [model, estimateMicros]);
  const usage = await keyframe.usage({ groupBy: "step" });
  const film = await keyframe.films.create({ title: "The pier" });
  const ordered = await keyframe.films.change(film.filmId, { projectIds: [projectId] }, { unchangedSince: film });
  const films: string[][] = [];
  for await (const one of keyframe.films.each({ limit: 1 })) films.push(one.projectIds);
  const shots = (await keyframe.films.read(film.filmId)).shots.map(({ takes }) => takes.video?.predictionId);
  const deletedFilm = await keyframe.films.delete(film.filmId);

  const test = await keyframe.webhooks.test(webhookId);
  const paused = await keyframe.webhooks.change(webhookId, { enabled: false });
  const shown = await keyframe.webhooks.secret(webhookId);
  const rotated = await keyframe.webhooks.rotate(webhookId, { overlapHours: 0 });
  const deliveries: string[] = [];
  for await (const { eventType } of keyframe.webhooks.eachDelivery(webhookId, { limit: 2 })) deliveries.push(eventType);
  const redelivered = await keyframe.webhooks.redeliver(test.deliveryId);
  const readDelivery = await keyframe.webhooks.readDelivery(test.deliveryId);
  const recovered = await keyframe.webhooks.recover(webhookId, { since: project.createdAt });
  const hooks = await keyframe.webhooks.list();
  const readHook = await keyframe.webhooks.read(webhookId);
  const deletedHook = await keyframe.webhooks.delete(webhookId);

  const nobody = createKeyframeClient({ url, apikey, getToken: () => "no.real.token" });
  const elsewhere = "00000000-0000-4000-8000-000000000000";
  const refusals = {
    empty: await refusal(keyframe.createProject({ title: "", textPrompt: "" })),
    foreign: await refusal(keyframe.readPrediction({ projectId: elsewhere, step: "video" })),
    gone: await refusal(keyframe.webhooks.read(webhookId)),
    late: await refusal(keyframe.cancel(ended)),
    mismatch: await refusal(keyframe.generate("first-frame", { projectId, prompt: "Another" }, { idempotencyKey })),
    noImage: await refusal(keyframe.uploadReferenceImage(new Uint8Array([1, 2, 3]))),
    unauthorized: await refusal(nobody.listProjects()),
    wait: await refusal(keyframe.waitFor({ ...ref, predictionId: elsewhere })),
    aborted: await refusal(keyframe.waitFor(ref, { signal: AbortSignal.abort("left") })),
  };
  const hidden = await keyframe.hidePrediction(ref);
  const removed = await keyframe.deletePrediction(ref);
  const deleted = await keyframe.deleteProject(projectId);
  const afterwards = await refusal(keyframe.readProject(projectId));
  return {
    ...{
      project,
      referenceImagePath,
      first,
      last,
      video,
      seen,
      again,
      ended,
      reads,
      listed,
      projects,
      changed,
      whole,
      models,
      estimates,
      usage,
      hidden,
      removed,
    },
    ...{ hook, test, paused, shown, rotated, deliveries, redelivered, recovered, hooks, readHook, deletedHook },
    ...{ film, ordered, films, shots, deletedFilm },
    ...{ readDelivery, refusals, deleted, afterwards },
  };
}

export type JourneyReport = Awaited<ReturnType<typeof journey>>;

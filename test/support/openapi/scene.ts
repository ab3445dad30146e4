import type postgres from "postgres";
import type { Step } from "../../../shared/contract/fields.ts";
import type { OperationId } from "../../../shared/contract/operations/index.ts";
import { SAMPLE } from "../../../shared/contract/samples.ts";
import { drawImage } from "../media/images.ts";
import { startStuck } from "../api/stuck.ts";
import { signUp, type User } from "../api/user.ts";
import { dataOf } from "../api/envelope.ts";
import { estimate } from "../../../shared/contract/costs.ts";
import { delivery } from "../../../shared/contract/webhooks.ts";
import { makeKey } from "../api/keys.ts";
import { shareFilm } from "../api/shares.ts";
import { register } from "../api/webhooks.ts";
import { type FlowReceiver, startFlowReceiver } from "../receiver/receiver.ts";

/** What stands in an example → what is there in its place. */
export type Real = Partial<Record<keyof typeof SAMPLE, string>>;

/** Somebody who has everything that the examples speak of. Nobody else's tests touch it. */
export type Scene = {
  user: User;
  /** Has no projects, so nothing is ever sent to what it registers. */
  newcomer: User;
  real: Real;
  receiver: FlowReceiver;
  /** By operation: makes something that it deletes, cancels or revokes, and that nothing depends on. */
  doomed: ReturnType<typeof listDoomed>;
};

function listDoomed(sql: postgres.Sql, user: User, { url }: FlowReceiver, projectId: string, filmId: string) {
  return {
    deleteFilm: async () => ({ filmId: await user.createFilm() }),
    deleteElement: async () => ({ elementId: await user.createElement() }),
    revokeShare: async () => ({ shareId: (await shareFilm(user, filmId)).shareId }),
    revokeKey: async () => ({ keyId: (await makeKey(user)).keyId }),
    deleteProject: async () => ({ projectId: await user.createProject() }),
    deletePrediction: async () => {
      const started = await user.start("first-frame", { projectId: await user.createProject() });
      const take = await user.finish(started);
      return { projectId: take.projectId, firstFrameId: take.predictionId };
    },
    /** The provider is still at it. */
    cancelPrediction: async () => {
      const { predictionId } = await startStuck(sql, user, "first-frame", projectId);
      return { projectId, videoId: predictionId };
    },
    deleteWebhook: async () => ({
      webhookId: (await register(user, { url, eventTypes: ["generation.failed"] })).webhookId,
    }),
  } satisfies Partial<Record<OperationId, () => Promise<Real>>>;
}

/** A project with its three predictions done, a reference image, and an endpoint on this machine that got a delivery. */
export async function prepareScene(sql: postgres.Sql): Promise<Scene> {
  const [user, newcomer, receiver] = await Promise.all([
    signUp(),
    signUp(),
    startFlowReceiver((response) => response.writeHead(204).end()),
  ]);
  const [filmId, projectId] = [await user.createFilm(), await user.createProject()];
  const elementId = await user.createElement();
  const run = async (step: Step) => {
    const ended = await user.finish(await user.start(step, { projectId }));
    if (ended.status !== "succeeded") throw new Error(`The ${step} of the examples ended as ${ended.status}.`);
    return ended.predictionId;
  };
  const firstFrameId = await run("first-frame");
  const lastFrameId = await run("last-frame");
  const videoId = await run("video");
  const referenceImagePath = await user.upload(await drawImage());
  const { webhookId } = await register(user, { url: receiver.url, eventTypes: ["generation.failed"] });
  const test = delivery.parse(dataOf(await user.post(`/api/webhooks/${webhookId}/test`, {}), 202));
  const { shareId, token: shareToken } = await shareFilm(user, filmId);
  const { keyId } = await makeKey(user);
  const quoted = await user.post("/api/projects/generate/first-frame/estimate?quote=true", { projectId });
  return {
    user,
    newcomer,
    receiver,
    real: {
      filmId,
      elementId,
      shareId,
      shareToken,
      keyId,
      projectId,
      firstFrameId,
      lastFrameId,
      videoId,
      referenceImagePath,
      webhookId,
      deliveryId: test.deliveryId,
      eventId: test.eventId,
      ownerId: user.id,
      quoteId: estimate.parse(dataOf(quoted, 200)).quoteId ?? "",
    },
    doomed: listDoomed(sql, user, receiver, projectId, filmId),
  };
}

/** An example with what is real in the place of every sample. Throws when it speaks of something that was not prepared. */
export function withReal<Value>(example: Value, real: Real): Value {
  let text = JSON.stringify(example);
  for (const [name, sample] of Object.entries(SAMPLE)) {
    const value = real[name as keyof typeof SAMPLE]; // the keys of SAMPLE, but Object.entries returns strings
    if (value !== undefined) text = text.replaceAll(sample, value);
    else if (text.includes(sample)) throw new Error(`An example speaks of ${name}, which was not prepared for it.`);
  }
  const stays = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
  const unknown = text.match(stays)?.find((id) => !Object.values(real).some((value) => value.includes(id)));
  if (unknown !== undefined) throw new Error(`An example speaks of ${unknown}, which is not a sample (samples.ts).`);
  return JSON.parse(text); // what JSON.stringify made of a Value
}

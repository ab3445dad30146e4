import type postgres from "postgres";
import type { CallOptions } from "./call.ts";
import { drawImage } from "../media/images.ts";
import { providerRuns, uniquePrompt } from "./provider.ts";
import { startStuck } from "./stuck.ts";
import type { User } from "./user.ts";
import { dataOf, exactDelivery, type Manager, register, SILENT } from "./webhooks.ts";

/** One request, and one that differs from it. */
export type Asked = { path: string; options: CallOptions };
export type Case = {
  one: Asked;
  other: Asked;
  /** What there is of its effect; `after` is what it has to be once the requests are over. */
  effect: () => Promise<unknown>;
  after: unknown;
};

const post = (path: string, json?: unknown): Asked => ({
  path,
  options: { method: "POST", ...(json === undefined ? {} : { json }) },
});
const count = async (rows: PromiseLike<readonly unknown[]>) => (await rows).length;

/** All runs of a step go the same way; the provider fails each at once. */
const start =
  (sql: postgres.Sql, step: "first-frame" | "last-frame" | "video") =>
  async (user: User): Promise<Case> => {
    const projectId = await user.createProject();
    if (step === "video") await user.finish(await user.start("first-frame", { projectId }));
    const prompt = uniquePrompt("[[fault:failed]]");
    const path = `/api/projects/generate/${step}`;
    return {
      one: post(path, { projectId, prompt }),
      other: post(path, { projectId, prompt: `${prompt} by night` }),
      effect: async () => {
        const ended = await user.finish(await user.read(step, projectId));
        const rows = sql`select from keyframe.predictions where project_id = ${projectId} and step = ${step}`;
        return { rows: await count(rows), status: ended.status, runs: (await providerRuns(prompt)).length };
      },
      after: { rows: 1, status: "failed", runs: 1 },
    };
  };

/** By operationId: what users alone may do. */
export const userCases = (sql: postgres.Sql) => ({
  createProject: async (user: User): Promise<Case> => {
    await register(user, { eventTypes: ["project.created"] });
    const title = crypto.randomUUID();
    const json = { title, textPrompt: "A harbour at dawn" };
    return {
      one: post("/api/projects", json),
      other: post("/api/projects", { ...json, textPrompt: "A harbour at night" }),
      effect: async () => ({
        rows: await count(sql`select from keyframe.projects where title = ${title}`),
        deliveries: await count(sql`select from keyframe.webhook_deliveries where owner_id = ${user.id}`),
      }),
      after: { rows: 1, deliveries: 1 },
    };
  },
  uploadReferenceImage: async (user: User): Promise<Case> => {
    const upload = async (): Promise<Asked> => ({
      path: "/api/projects/reference-images",
      options: { body: await drawImage(), headers: { "content-type": "image/png" } },
    });
    return {
      one: await upload(),
      other: await upload(),
      effect: () => count(sql`select from storage.objects where bucket_id = 'projects' and owner_id = ${user.id}`),
      after: 1,
    };
  },
  startFirstFrame: start(sql, "first-frame"),
  startLastFrame: start(sql, "last-frame"),
  startVideo: start(sql, "video"),
  cancelPrediction: async (user: User): Promise<Case> => {
    const projectId = await user.createProject();
    const [one, other] = [
      await startStuck(sql, user, "first-frame", projectId),
      await startStuck(sql, user, "first-frame", projectId),
    ];
    const cancel = (predictionId: string) => post("/api/projects/generate/cancel", { projectId, predictionId });
    return {
      one: cancel(one.predictionId),
      other: cancel(other.predictionId),
      effect: async () => {
        const rows = await sql<{ id: string }[]>`
          select id from keyframe.predictions where project_id = ${projectId} and status = 'canceled'`;
        return rows.map(({ id }) => id);
      },
      after: [one.predictionId],
    };
  },
});

/** Those of webhooks work for a user's endpoint and for a service-wide one. Endpoints are disabled but where a test is sent. */
export const managerCases = (sql: postgres.Sql) => ({
  createWebhook: async (): Promise<Case> => {
    const description = crypto.randomUUID();
    const json = { url: SILENT, description, enabled: false };
    return {
      one: post("/api/webhooks", json),
      other: post("/api/webhooks", { ...json, eventTypes: ["project.created"] }),
      effect: async () => {
        const rows = await sql<{ secrets: number }[]>`
          select (select count(*)::int from keyframe_private.webhook_secrets s where s.endpoint_id = e.id) as secrets
          from keyframe.webhook_endpoints e where e.description = ${description}`;
        return rows.map(({ secrets }) => secrets);
      },
      after: [1],
    };
  },
  rotateSecret: async (by: Manager): Promise<Case> => {
    const { webhookId } = await register(by, { enabled: false });
    const path = `/api/webhooks/${webhookId}/secret/rotate`;
    return {
      one: post(path),
      other: post(path, { overlapHours: 1 }),
      effect: () => count(sql`select from keyframe_private.webhook_secrets where endpoint_id = ${webhookId}`),
      after: 2,
    };
  },
  testWebhook: async (by: Manager): Promise<Case> => {
    const [one, other] = [await quiet(sql, by), await quiet(sql, by)];
    return {
      one: post(`/api/webhooks/${one.webhookId}/test`),
      other: post(`/api/webhooks/${other.webhookId}/test`),
      effect: async () => [
        await count(sql`select from keyframe.webhook_deliveries where endpoint_id = ${one.webhookId}`),
        await count(sql`select from keyframe.webhook_deliveries where endpoint_id = ${other.webhookId}`),
      ],
      after: [1, 0],
    };
  },
  redeliver: async (by: Manager): Promise<Case> => {
    const { webhookId } = await quiet(sql, by);
    const ids = [await exhausted(sql, by, webhookId), await exhausted(sql, by, webhookId)];
    await by.call(`/api/webhooks/${webhookId}`, { method: "PATCH", json: { enabled: false } });
    const path = (at: number) => `/api/webhooks/deliveries/${ids[at]}/redeliver`;
    return { one: post(path(0)), other: post(path(1)), effect: () => pending(sql, webhookId), after: [ids[0]] };
  },
  recoverWebhook: async (by: Manager): Promise<Case> => {
    const { webhookId } = await quiet(sql, by);
    const since = new Date(Date.now() - 60_000).toISOString();
    const ids = [await exhausted(sql, by, webhookId), await exhausted(sql, by, webhookId)].sort();
    await by.call(`/api/webhooks/${webhookId}`, { method: "PATCH", json: { enabled: false } });
    const path = `/api/webhooks/${webhookId}/recover`;
    return {
      one: post(path, { since }),
      other: post(path, { since: new Date(0).toISOString() }),
      effect: () => pending(sql, webhookId),
      after: ids,
    };
  },
});

/** An endpoint that gets test events alone, so that a service-wide one gets no events of other tests. */
export async function quiet(sql: postgres.Sql, by: Manager): Promise<{ webhookId: string }> {
  const { webhookId } = await register(by, { eventTypes: ["project.created"], enabled: false });
  await sql`update keyframe.webhook_endpoints set event_types = '{webhook.test}' where id = ${webhookId}`;
  await by.call(`/api/webhooks/${webhookId}`, { method: "PATCH", json: { enabled: true } });
  return { webhookId };
}

/** A test delivery that was given up. */
export async function exhausted(sql: postgres.Sql, by: Manager, webhookId: string): Promise<string> {
  const { deliveryId } = exactDelivery.parse(dataOf(await by.post(`/api/webhooks/${webhookId}/test`, {}), 202));
  await sql`
    update keyframe.webhook_deliveries
    set status = 'exhausted', completed_at = now()
    where id = ${deliveryId}`;
  return deliveryId;
}

/** What is to be sent to an endpoint. */
export const pending = async (sql: postgres.Sql, webhookId: string) => {
  const rows = await sql<{ id: string }[]>`
    select id from keyframe.webhook_deliveries where endpoint_id = ${webhookId} and status = 'pending' order by id`;
  return rows.map(({ id }) => id);
};

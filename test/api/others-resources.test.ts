import { beforeAll, describe, expect, test } from "vitest";
import { OPERATIONS, type OperationId } from "../../shared/contract/operations/index.ts";
import { footprint, openDatabase } from "../support/api/database.ts";
import { OPERATION_IDS, REQUESTS, request, type Scene, setScene, unknownIds } from "../support/api/requests.ts";
import { signUp, type User } from "../support/api/user.ts";
import { asProject, type Manager } from "../support/api/webhooks.ts";

const sql = openDatabase();
const project = asProject();
let owned: Scene;
let ofProject: Scene;
let stranger: User;
beforeAll(async () => {
  [owned, ofProject, stranger] = await Promise.all([setScene(sql), setScene(sql, project), signUp()]);
  // For tests alone, off, and with nothing to send: only the request of a test can change them.
  for (const { manager, webhookId } of [owned, ofProject]) {
    await sql`update keyframe.webhook_endpoints set event_types = '{webhook.test}' where id = ${webhookId}`;
    await manager.call(`/api/webhooks/${webhookId}`, { method: "PATCH", json: { enabled: false } });
    await sql`update keyframe.webhook_deliveries set status = 'exhausted', completed_at = now() where endpoint_id = ${webhookId}`;
  }
  return () => project.call(`/api/webhooks/${ofProject.webhookId}`, { method: "DELETE" });
});

const isInPath = (one: OperationId) => OPERATIONS[one].caller !== "nobody" && OPERATIONS[one].at.includes("/:");
const RESOURCES = OPERATION_IDS.filter((one) => isInPath(one) || OPERATIONS[one].at.startsWith("/projects/generate/"));
const OF_WEBHOOKS = OPERATION_IDS.filter((one) => OPERATIONS[one].caller === "manager");

const stateOf = async ({ user, projectId, webhookId }: Scene) => [
  await footprint(sql, user.id),
  await sql`select * from keyframe.projects where id = ${projectId}`,
  await sql`
    select to_jsonb(e) as endpoint, keyframe_private.webhook_secrets_of(e.id) as secrets,
      (select jsonb_agg(to_jsonb(d) order by d.id) from keyframe.webhook_deliveries d where d.endpoint_id = e.id) as deliveries
    from keyframe.webhook_endpoints e where e.id = ${webhookId}`,
];

const of = (ids: OperationId[]) => RESOURCES.filter((one) => ids.includes(one));
describe.each<[who: string, ids: OperationId[], give: () => [by: Manager, scene: Scene]]>([
  ["a user, of what is another user's", RESOURCES, () => [stranger, owned]],
  ["a user, of a service-wide endpoint", of(OF_WEBHOOKS), () => [stranger, ofProject]],
  ["the project by its secret key, of a user's endpoint", of(OF_WEBHOOKS), () => [project, owned]],
])("requests by %s", (_who, ids, give) => {
  test.each(ids)("%s → 404, word for word as for one that never existed, and nothing changed", async (one) => {
    const [by, scene] = give();
    const { options: json, path } = REQUESTS[one];
    const { method } = OPERATIONS[one];
    // A version that its owner was told opens nothing either.
    const etag = (await scene.user.call(`/api/projects/${scene.projectId}`)).headers.get("etag") ?? "";
    const headers = { "if-none-match": etag, "if-match": etag };
    const before = await stateOf(scene);
    const [foreign, absent] = await Promise.all(
      [scene, { ...scene, ...unknownIds() }].map(async (about) => {
        return await by.call(path(about), { method, ...(await json?.(about)), headers });
      }),
    );
    expect([foreign?.status, foreign?.error?.code]).toEqual([404, "not_found"]);
    expect({ ...foreign?.error, requestId: "" }).toEqual({ ...absent?.error, requestId: "" });
    expect(await stateOf(scene)).toEqual(before);
  });
});

test.each(OF_WEBHOOKS)("%s for a service-wide endpoint, with the secret key → success", async (one) => {
  if (one === "testWebhook")
    await project.call(`/api/webhooks/${ofProject.webhookId}`, { method: "PATCH", json: { enabled: true } });
  const { status, data } = await request(one, ofProject);
  expect(status).toBe(OPERATIONS[one].status);
  if (one === "createWebhook") await project.call(`/api/webhooks/${Object(data).webhookId}`, { method: "DELETE" });
});

test("a prediction of another of the caller's projects, or of another step → 404: all identifiers have to fit", async () => {
  const { user, projectId, finishedId } = owned;
  const other = { projectId: await user.createProject(), predictionId: finishedId };
  const read = (step: string, ids: Record<string, string>) =>
    user.call(`/api/projects/generate/${step}?${new URLSearchParams(ids)}`);
  expect((await read("first-frame", other)).status).toBe(404);
  expect((await user.post("/api/projects/generate/cancel", other)).status).toBe(404);
  for (const step of ["last-frame", "video"]) {
    expect((await read(step, { projectId, predictionId: finishedId })).status).toBe(404);
  }
});

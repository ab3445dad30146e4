import { beforeAll, beforeEach, expect, test } from "vitest";
import { OPERATIONS, type OperationId } from "../../shared/contract/operations/index.ts";
import { startedFilm } from "../../shared/contract/films.ts";
import { createdKey } from "../../shared/contract/keys.ts";
import { takesKey } from "../../shared/contract/operations/operation.ts";
import { prediction } from "../../shared/contract/predictions.ts";
import { project } from "../../shared/contract/projects.ts";
import { createdShare } from "../../shared/contract/shares.ts";
import { createApiApp } from "../support/api/app.ts";
import { fillBuckets, tokensTaken } from "../support/api/buckets.ts";
import { requestInit } from "../support/api/call.ts";
import { openDatabase } from "../support/api/database.ts";
import { type Reply, readReply } from "../support/api/envelope.ts";
import { OPERATION_IDS, prepare, REQUESTS, type Scene, setScene } from "../support/api/requests.ts";
import { signUp } from "../support/api/user.ts";
import { delivery } from "../../shared/contract/webhooks.ts";
import { asProject, type Manager, SILENT } from "../support/api/webhooks.ts";
import { drawImage } from "../support/media/images.ts";

const sql = openDatabase();
const asKey = asProject();
let scene: Scene;
let ofProject: Scene;
beforeAll(async () => {
  [scene, ofProject] = await Promise.all([setScene(sql), setScene(sql, asKey)]);
  // So that the project's endpoint gets no events of other tests.
  const ids = [scene.webhookId, ofProject.webhookId];
  await sql`update keyframe.webhook_endpoints set event_types = '{webhook.test}' where id = any(${ids})`;
  return () => asKey.call(`/api/webhooks/${ofProject.webhookId}`, { method: "DELETE" });
});
beforeEach(() => fillBuckets(sql, scene.user.id));

const freshKey = () => ({ "idempotency-key": crypto.randomUUID() });
const replayed = ({ headers }: Reply) => headers.get("idempotency-replayed");

const MARK = crypto.randomUUID();
async function countAll({ user: { id }, webhookId }: Scene): Promise<Record<string, number>> {
  const [row] = await sql<Record<string, number>[]>`
    with endpoints as (
      select id from keyframe.webhook_endpoints where owner_id = ${id} or id = ${webhookId} or description = ${MARK})
    select (select count(*)::int from keyframe.projects where owner_id = ${id}) as projects,
      (select count(*)::int from keyframe.films where owner_id = ${id}) as films,
      (select count(*)::int from keyframe.elements where owner_id = ${id}) as elements,
      (select count(*)::int from keyframe_private.film_shares s join keyframe.films f on f.id = s.film_id where f.owner_id = ${id}) as shares,
      (select count(*)::int from keyframe_private.allowed_clients where owner_id = ${id}) as keys,
      (select count(*)::int from keyframe.predictions where owner_id = ${id}) as predictions,
      (select count(*)::int from keyframe.predictions where owner_id = ${id} and status = 'canceled') as canceled,
      (select count(*)::int from storage.objects where user_metadata ->> 'ownerId' = ${id} and bucket_id = 'projects') as files,
      (select count(*)::int from endpoints) as endpoints,
      (select count(*)::int from keyframe_private.webhook_secrets where endpoint_id in (table endpoints)) as secrets,
      (select count(*)::int from keyframe.webhook_deliveries where endpoint_id = ${webhookId}) as deliveries,
      (select count(*)::int from keyframe.webhook_deliveries where endpoint_id = ${webhookId} and status = 'pending') as pending`;
  if (!row) throw new Error("There is no count.");
  return row;
}

type Post = {
  /** What one request does to the counts. */
  effect: Record<string, number>;
  /** Fields of the request, when those of REQUESTS leave no trace. */
  fields?: object;
  /** The limit counts bodies that are sent, not images that are stored. */
  tokenEach?: true;
  /** What another request with the same key has otherwise; absent: it is one for another path. */
  other?: object;
};
const start: Post = { effect: { predictions: 1 }, other: { count: 2 } };
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
const POSTS: Partial<Record<OperationId, Post>> = {
  createProject: { effect: { projects: 1 }, other: { textPrompt: "A harbour at night" } },
  createFilm: { effect: { films: 1 }, other: { title: "Quay" } },
  createElement: { effect: { elements: 1 }, other: { name: "Quay" } },
  shareFilm: { effect: { shares: 1 }, other: { expiresAt: "2036-11-21T12:00:00.000Z" } },
  createKey: { effect: { keys: 1 }, other: { may: "manage" } },
  uploadReferenceImage: { effect: { files: 1 }, tokenEach: true },
  startFilm: { effect: { predictions: 1 }, other: { resolution: "1K" } },
  startFirstFrame: start,
  startLastFrame: start,
  startVideo: start,
  cancelPrediction: { effect: { canceled: 1 }, other: { predictionId: crypto.randomUUID() } },
  createWebhook: {
    effect: { endpoints: 1, secrets: 1 },
    fields: { description: MARK },
    other: { eventTypes: ["project.created"] },
  },
  rotateSecret: { effect: { secrets: 1 }, fields: { overlapHours: 2 }, other: { overlapHours: 1 } },
  testWebhook: { effect: { deliveries: 1, pending: 1 } },
  redeliver: { effect: { pending: 1 } },
  recoverWebhook: { effect: { pending: 1 }, fields: { since: ago(60) }, other: { since: ago(90) } },
};

test("every POST of the contract that takes an Idempotency-Key → has a case in this file", () => {
  const posts = OPERATION_IDS.filter((id) => takesKey(OPERATIONS[id]));
  expect(Object.keys(POSTS).sort()).toEqual(posts.sort());
});

test("an estimate with an Idempotency-Key → does not use up the key, which a start can use, and leaves no trace", async () => {
  const before = await countAll(scene);
  const json = { projectId: scene.projectId, prompt: "[[fault:rejected]] A harbour" };
  const headers = freshKey();
  const path = "/api/projects/generate/first-frame";
  for (const _ of ["first", "again"]) {
    const estimated = await scene.user.call(`${path}/estimate`, { method: "POST", json, headers });
    expect([estimated.status, replayed(estimated)]).toEqual([200, null]);
  }
  expect(await countAll(scene)).toEqual(before);
  const started = await scene.user.call(path, { method: "POST", json, headers });
  expect([started.status, replayed(started)]).toEqual([202, null]);
});

/** What stays the same in each answer, whatever has become of the resource between them. */
function same({ data }: Reply): unknown {
  const film = startedFilm.safeParse(data);
  if (film.success) return film.data.predictions.map(({ predictionId, createdAt }) => [predictionId, createdAt]);
  const run = prediction.safeParse(data);
  if (run.success) return [run.data.predictionId, run.data.createdAt];
  const sent = delivery.safeParse(data);
  if (sent.success) return [sent.data.deliveryId, sent.data.createdAt];
  const key = createdKey.safeParse(data);
  if (key.success) return { ...key.data, key: "another each time" };
  const shared = createdShare.safeParse(data);
  return shared.success ? { ...shared.data, token: "another each time" } : data;
}

const ofUser = Object.entries(POSTS).map(([id, post]) => ["a user", id as OperationId, post, () => scene] as const);
const ofKey = ofUser
  .filter(([, id]) => OPERATIONS[id].caller === "manager")
  .map(([, id, post]) => ["the project", id, post, () => ofProject] as const);

test.each([...ofUser, ...ofKey])(
  "%s, %s 8 times at once with one key → one effect, one token, replays; another request with the key → 422",
  async (_who, id, { effect, fields, other, tokenEach }, give) => {
    const about = give();
    const { manager, webhookId, deliveryId } = about;
    // One delivery, given up; only a test event is sent.
    await manager.call(`/api/webhooks/${webhookId}`, { method: "PATCH", json: { enabled: id === "testWebhook" } });
    await sql`delete from keyframe.webhook_deliveries where endpoint_id = ${webhookId} and id <> ${deliveryId}`;
    await sql`update keyframe.webhook_deliveries set status = 'exhausted', completed_at = now() where id = ${deliveryId}`;
    const { path, options } = await prepare(id, about);
    const asked = { ...options, ...(fields || options.json ? { json: Object.assign({}, options.json, fields) } : {}) };
    const elsewhere = await prepare("createWebhook", about);
    const { takes } = REQUESTS[id];
    await fillBuckets(sql, scene.user.id);

    const key = freshKey();
    const send = (change = asked, headers: Record<string, string> = key, at = path) =>
      manager.call(at, { ...change, headers: { ...change.headers, ...headers } });
    const before = await countAll(about);
    const after = Object.fromEntries(
      Object.entries(before).map(([what, count]) => [what, count + (effect[what] ?? 0)]),
    );
    const bad = await send(asked, { "idempotency-key": "two words" });
    expect([bad.status, bad.error?.details?.[0]?.path]).toEqual([400, "Idempotency-Key"]);
    expect(await countAll(about)).toEqual(before);

    const replies = await Promise.all(Array.from({ length: 8 }, () => send()));
    replies.push(await send());
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => OPERATIONS[id].status));
    expect(new Set(replies.map((reply) => JSON.stringify(same(reply)))).size).toBe(1);
    expect(replies.filter((reply) => replayed(reply) === null)).toHaveLength(1);
    expect(replies.filter((reply) => replayed(reply) === "true")).toHaveLength(8);
    const taken = await tokensTaken(sql, scene.user.id, takes ?? "read");
    const refused = other
      ? await send({ ...asked, json: { ...Object(asked.json), ...other } })
      : await send(elsewhere.options, key, elsewhere.path);
    expect([refused.status, refused.error?.code, replayed(refused)]).toEqual([422, "idempotency_mismatch", null]);
    expect(await countAll(about)).toEqual(after);
    if (tokenEach) expect(taken).toBeGreaterThan(1);
    else if (manager === scene.user) expect(taken).toBe(1);
    else if (id === "createWebhook") {
      await manager.call(`/api/webhooks/${Object(replies[0]?.data).webhookId}`, { method: "DELETE" });
    }
  },
);

const PROJECT = { title: "Harbour", textPrompt: "A harbour at dawn", description: "Fog" };
const idOf = ({ data }: Reply) => project.parse(data).projectId;

test("a repeated request with fields and white space in another order → replayed; without a key, or by another user → not", async () => {
  const { user } = scene;
  const key = freshKey();
  const create = (by: Manager, headers: Record<string, string>) => by.post("/api/projects", PROJECT, headers);
  const first = await create(user, key);
  const body = JSON.stringify(Object.fromEntries(Object.entries(PROJECT).reverse()), null, 2);
  const turned = await user.call("/api/projects", { body, headers: { ...key, "content-type": "application/json" } });
  expect([replayed(turned), turned.data]).toEqual(["true", first.data]);
  const others = [await create(user, {}), await create(await signUp(), key)];
  expect(others.map((reply) => [reply.status, replayed(reply)])).toEqual(others.map(() => [201, null]));
  expect(new Set([first, ...others].map(idOf)).size).toBe(3);
});

test.each([
  ["of 255 characters", "k".repeat(255), 201],
  ["with every kind of visible character", "!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~", 201],
  ["that is empty", "", 400],
  ["of 256 characters", "k".repeat(256), 400],
  ["with a tab", "a\tb", 400],
  ["with a letter beyond ASCII", "clé", 400],
])("a key %s → the status that the rule for keys says", async (_name, key, status) => {
  const { error, ...reply } = await scene.user.post("/api/projects", PROJECT, { "idempotency-key": key });
  expect([reply.status, error?.details?.[0]?.path]).toEqual([status, status === 400 ? "Idempotency-Key" : undefined]);
});

test("a user's Idempotency-Key, repeated with the secret key → a new request, not a replay", async () => {
  const key = freshKey();
  const json = { url: SILENT, description: crypto.randomUUID(), enabled: false };
  const replies = [await scene.user.post("/api/webhooks", json, key), await asKey.post("/api/webhooks", json, key)];
  expect(replies.map((reply) => [reply.status, replayed(reply)])).toEqual(replies.map(() => [201, null]));
  const [own, wide] = replies.map(({ data }) => Object(data).webhookId);
  expect(own).not.toBe(wide);
  await asKey.call(`/api/webhooks/${wide}`, { method: "DELETE" });
});

// One instance of the function reads one upload of an account at a time, so the second goes to another instance, as the hosted
// platform runs several.
test("an upload overtaken by an identical one on the way to Storage → 201 for both, one file; another image → 422", async () => {
  const user = await signUp();
  const onItsWay = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const slowInstance = createApiApp({
    fetcher: async (input, init) => {
      const request = new Request(input, init);
      if (new URL(request.url).pathname.startsWith("/storage/v1/object/projects/")) {
        onItsWay.resolve();
        await goOn.promise;
      }
      return await fetch(request);
    },
  });
  const headers = { "content-type": "image/png", ...freshKey() };
  const init = requestInit({ token: user.token, body: await drawImage(), headers });
  const upload = async ({ fetch: send }: ReturnType<typeof createApiApp>) =>
    readReply(await send(new Request("http://api.test/api/projects/reference-images", init)));
  const slow = upload(slowInstance);
  await onItsWay.promise;
  const quick = await upload(createApiApp({ fetcher: fetch }));
  goOn.resolve();
  const late = await slow;
  expect([quick, late].map((reply) => [reply.status, replayed(reply)])).toEqual([
    [201, "true"],
    [201, null],
  ]);
  expect(late.data).toEqual(quick.data);
  expect(
    await sql`select from storage.objects where bucket_id = 'projects' and user_metadata ->> 'ownerId' = ${user.id}`,
  ).toHaveLength(1);
  const other = await user.call("/api/projects/reference-images", { body: await drawImage(), headers });
  expect(other.error?.code).toBe("idempotency_mismatch");
});

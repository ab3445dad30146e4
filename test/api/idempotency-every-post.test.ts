import { beforeAll, describe, expect, inject, test } from "vitest";
import { OPERATIONS, type OperationId } from "../../shared/contract/operations/index.ts";
import { prediction } from "../../shared/contract/predictions.ts";
import { tokensTaken } from "../support/api/buckets.ts";
import { type CallOptions, callApi } from "../support/api/call.ts";
import { openDatabase } from "../support/api/database.ts";
import type { Reply } from "../support/api/envelope.ts";
import {
  type Asked,
  type Case,
  exhausted,
  managerCases,
  pending,
  quiet,
  userCases,
} from "../support/api/post-cases.ts";
import { OPERATION_IDS, REQUESTS } from "../support/api/requests.ts";
import { signUp, type User } from "../support/api/user.ts";
import { asProject, dataOf, exactDelivery, type Manager, SILENT } from "../support/api/webhooks.ts";

const sql = openDatabase();
const USER_CASES = userCases(sql);
const MANAGER_CASES = managerCases(sql);

test("every POST of the contract has its case here", () => {
  const posts = OPERATION_IDS.filter((id) => OPERATIONS[id].method === "POST");
  expect([...Object.keys(USER_CASES), ...Object.keys(MANAGER_CASES)].sort()).toEqual(posts.sort());
});

/** What stays the same in each answer, whatever has become of the resource between them. */
function same({ data }: Reply): unknown {
  const run = prediction.safeParse(data);
  if (run.success) return [run.data.predictionId, run.data.createdAt];
  const sent = exactDelivery.safeParse(data);
  return sent.success ? [sent.data.deliveryId, sent.data.createdAt] : data;
}

const replayed = ({ headers }: Reply) => headers.get("idempotency-replayed");

/** 50 at once, then one more, then one that differs. `caller` goes into each request. */
async function expectOneEffect(id: OperationId, { one, other, effect, after }: Case, caller: CallOptions) {
  const key = { "idempotency-key": crypto.randomUUID() };
  const send = ({ path, options }: Asked) =>
    callApi(path, { ...caller, ...options, headers: { ...caller.headers, ...options.headers, ...key } });
  const replies = await Promise.all(Array.from({ length: 50 }, () => send(one)));
  expect(replies.map(({ status }) => status)).toEqual(replies.map(() => OPERATIONS[id].status));
  expect(new Set(replies.map((reply) => JSON.stringify(same(reply)))).size).toBe(1);
  expect(replies.filter((reply) => replayed(reply) === null)).toHaveLength(1);
  expect(replies.filter((reply) => replayed(reply) === "true")).toHaveLength(49);
  expect(await effect()).toEqual(after);

  const again = await send(one);
  expect([again.status, replayed(again), same(again)]).toEqual([
    OPERATIONS[id].status,
    "true",
    same(replies[0] as Reply),
  ]);
  const refused = await send(other);
  expect([refused.status, refused.error?.code, replayed(refused)]).toEqual([422, "idempotency_mismatch", null]);
  expect(await effect()).toEqual(after);
}

describe("50 equal requests at once, one more, and another one with the same key → one effect, replays, 422", () => {
  let user: User;
  beforeAll(async () => {
    user = await signUp();
  });

  const cases = Object.entries({ ...USER_CASES, ...MANAGER_CASES }) as [OperationId, (by: User) => Promise<Case>][];
  test.each(cases)("%s of a user, who pays one token for all of it", async (id, make) => {
    const made = await make(user);
    const rateClass = REQUESTS[id].takes ?? "read";
    await sql`delete from keyframe_private.rate_buckets where owner_id = ${user.id} and route_class = ${rateClass}`;
    await expectOneEffect(id, made, { token: user.token });
    expect(await tokensTaken(sql, user.id, rateClass)).toBe(1);
  });

  test.each(Object.entries(MANAGER_CASES) as [OperationId, (by: Manager) => Promise<Case>][])(
    "%s of the project, by its secret key",
    async (id, make) => {
      const made: string[] = [];
      const project = asProject();
      const noted: Manager = {
        ...project,
        post: async (path, json, headers) => {
          const reply = await project.post(path, json, headers);
          if (path === "/api/webhooks") made.push((reply.data as { webhookId: string }).webhookId);
          return reply;
        },
      };
      try {
        await expectOneEffect(id, await make(noted), { headers: { apikey: inject("stack").secretKey } });
      } finally {
        for (const one of made) await project.call(`/api/webhooks/${one}`, { method: "DELETE" });
      }
    },
  );
});

test("a key of a user's → not the project's: the same request by the secret key is a first one", async () => {
  const user = await signUp();
  const headers = { "idempotency-key": crypto.randomUUID() };
  const json = { url: SILENT, description: crypto.randomUUID(), enabled: false };
  const replies = [
    await user.post("/api/webhooks", json, headers),
    await asProject().post("/api/webhooks", json, headers),
  ];
  expect(replies.map(replayed)).toEqual([null, null]);
  const ids = replies.map((reply) => (dataOf(reply, 201) as { webhookId: string }).webhookId);
  expect(new Set(ids).size).toBe(2);
  await asProject().call(`/api/webhooks/${ids[1]}`, { method: "DELETE" });
});

test("an effect undone by hand → a replay does not make it again: exhausted stays exhausted, gone stays gone", async () => {
  const user = await signUp();
  const { webhookId } = await quiet(sql, user);
  const id = await exhausted(sql, user, webhookId);
  await user.call(`/api/webhooks/${webhookId}`, { method: "PATCH", json: { enabled: false } });
  const headers = { "idempotency-key": crypto.randomUUID() };
  const redeliver = () => user.call(`/api/webhooks/deliveries/${id}/redeliver`, { method: "POST", headers });
  expect((await redeliver()).status).toBe(202);
  await sql`
    update keyframe.webhook_deliveries set status = 'exhausted', completed_at = now() where id = ${id}`;
  const again = await redeliver();
  expect([again.status, replayed(again)]).toEqual([202, "true"]);
  expect(await pending(sql, webhookId)).toEqual([]);

  const key = { "idempotency-key": crypto.randomUUID() };
  const create = () => user.post("/api/projects", { title: "a", textPrompt: "b" }, key);
  const { projectId } = dataOf(await create(), 201) as { projectId: string };
  await user.call(`/api/projects/${projectId}`, { method: "DELETE" });
  const gone = await create();
  expect([gone.status, gone.error?.code]).toEqual([404, "not_found"]);
  expect(gone.error?.message).toContain("Send a new key");
});

test.each([
  ["PATCH", { title: "Lighthouse" }],
  ["DELETE", undefined],
] as const)("an Idempotency-Key on %s, which ends where it ended before → no matter", async (method, json) => {
  const user = await signUp();
  const projectId = await user.createProject();
  const headers = { "idempotency-key": "k" };
  const options = { method, headers, ...(json === undefined ? {} : { json }) };
  const { status, ...reply } = await user.call(`/api/projects/${projectId}`, options);
  expect([status, reply.headers.get("idempotency-replayed")]).toEqual([200, null]);
});

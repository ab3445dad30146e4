import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { OPERATIONS, type OperationId } from "../../shared/contract/operations/index.ts";
import type { Operation } from "../../shared/contract/operations/operation.ts";
import { failedBody, lastArguments, rate, startApi } from "./api-fixture.ts";
import { answerSample, initOf, SAMPLES } from "./api-samples.ts";

const api = await startApi((request) => answerSample(request, rate));
afterAll(api.stop);
beforeEach(() => {
  api.seen.length = 0;
});

// The keys of OPERATIONS are the OperationIds, but Object.keys returns strings.
const IDS = Object.keys(OPERATIONS) as OperationId[];
const operationOf = (id: OperationId): Operation => OPERATIONS[id];
const POSTS = IDS.filter((id) => operationOf(id).method === "POST");
const send = (id: OperationId, headers: HeadersInit = {}) =>
  api.call(SAMPLES[id].path, initOf(operationOf(id).method, SAMPLES[id], headers));
/** Only ever one: an upload is the one that also stores, and what succeeded is also signed. */
const databaseCalls = () => api.seen.filter(({ path }) => path.startsWith("/rest/"));

test("every operation of the contract has its sample here", () => {
  expect(Object.keys(SAMPLES).sort()).toEqual([...IDS].sort());
});

test.each(IDS)(
  "%s → one call of its SQL function with these arguments, by the caller's token, and an answer as in the contract",
  async (id) => {
    const { status, answer, caller, tagged, versioned } = operationOf(id);
    const response = await send(id);
    const { success, data, error } = await response.json();
    expect([response.status, success, error]).toEqual([status, true, null]);
    expect(data).toEqual(answer.parse(data)); // nothing beside what the contract has
    expect(databaseCalls().map(({ method, path }) => [method, path])).toEqual([
      ["POST", `/rest/v1/rpc/${SAMPLES[id].sql.name}`],
    ]);
    expect(lastArguments(api)).toEqual(SAMPLES[id].sql.args);
    for (const { headers } of api.seen) {
      expect(headers.get("apikey")).toBe("sb_publishable_test");
      // A call without a token of its own goes out with the publishable key.
      if (caller !== "nobody") expect(headers.get("authorization")).toBe(`Bearer ${api.token}`);
      else expect(headers.get("authorization") ?? "").not.toContain(api.token);
    }
    expect(response.headers.get("ratelimit")).toBe(caller === "nobody" ? null : '"generate";r=59;t=1');
    expect(response.headers.has("etag")).toBe(tagged === true || versioned === true);
  },
);

test.each(IDS.filter((id) => operationOf(id).caller !== "nobody"))(
  "%s by a caller without a limit → no RateLimit headers; a database that does not say how it stands → 500",
  async (id) => {
    for (const [given, status] of [
      [null, operationOf(id).status],
      [undefined, 500],
    ] as const) {
      const other = await startApi((request) => answerSample(request, given));
      const response = await other.call(SAMPLES[id].path, initOf(operationOf(id).method, SAMPLES[id]));
      await other.stop();
      const { headers } = response;
      expect([response.status, headers.get("ratelimit"), headers.get("ratelimit-policy")]).toEqual([
        status,
        null,
        null,
      ]);
    }
  },
);

describe("Idempotency-Key", () => {
  test.each(POSTS)("%s → key and hash go to the database beside the rest", async (id) => {
    const response = await send(id, { "idempotency-key": "k" });
    expect(response.status).toBe(operationOf(id).status);
    expect(lastArguments(api)).toEqual({
      ...SAMPLES[id].sql.args,
      idempotency_key: "k",
      request_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  test.each(IDS.filter((id) => !POSTS.includes(id)))("%s is no POST → a key changes nothing", async (id) => {
    for (const key of ["k", "no key at all"]) {
      expect((await send(id, { "idempotency-key": key })).status).toBe(operationOf(id).status);
      expect(lastArguments(api)).toEqual(SAMPLES[id].sql.args);
    }
  });

  test.each(POSTS)("%s with a replayed answer → Idempotency-Replayed, the same status", async (id) => {
    const replaying = await startApi(async (request) => {
      const answer = answerSample(request, rate);
      if (!request.path.startsWith("/rest/")) return answer;
      return Response.json({ ...(await answer.json()), replayed: true });
    });
    const response = await replaying.call(SAMPLES[id].path, initOf("POST", SAMPLES[id], { "idempotency-key": "k" }));
    await replaying.stop();
    expect([response.status, response.headers.get("idempotency-replayed")]).toEqual([operationOf(id).status, "true"]);
  });

  const hashOf = async (path: string, body: string | null) => {
    const headers = { "idempotency-key": "k", ...(body === null ? {} : { "content-type": "application/json" }) };
    expect((await api.call(path, { method: "POST", body, headers })).status).toBeLessThan(300);
    return (lastArguments(api) as { request_hash: string }).request_hash; // shown to be there above
  };
  test.each(POSTS.filter((id) => operationOf(id).bodyMayBeEmpty))(
    "%s: no body, {} and white space in it are one request; another path is another one",
    async (id) => {
      const { path } = SAMPLES[id];
      const hash = await hashOf(path, null);
      expect([await hashOf(path, ""), await hashOf(path, "{}"), await hashOf(path, " { } ")]).toEqual([
        hash,
        hash,
        hash,
      ]);
      const other = path.replace(/[0-9a-f]{8}-/, "00000000-");
      expect(await hashOf(other, null)).not.toBe(hash);
    },
  );
  test("rotateSecret: no body is the request that names the default", async () => {
    const { path } = SAMPLES.rotateSecret;
    expect(await hashOf(path, '{"overlapHours":24}')).toBe(await hashOf(path, null));
    expect(await hashOf(path, '{"overlapHours":23}')).not.toBe(await hashOf(path, null));
  });
  test("the three starts with equal bodies are three requests", async () => {
    const hashes = new Set<string>();
    for (const id of ["startFirstFrame", "startLastFrame", "startVideo"] as const) {
      hashes.add(await hashOf(SAMPLES[id].path, JSON.stringify({ projectId: SAMPLES[id].sql.args.project_id })));
    }
    expect(hashes.size).toBe(3);
  });
});

describe("without a session", () => {
  test.each(IDS)("%s → 401, or its answer where none is needed; nothing else reaches the platform", async (id) => {
    const { caller, status } = operationOf(id);
    const response = await send(id, { authorization: "" });
    expect([response.status, api.seen.length]).toEqual(caller === "nobody" ? [status, 1] : [401, 0]);
  });
});

describe("a field or a parameter that no operation has → 400 that names it, before the database is asked", () => {
  const named = async (response: Response) => {
    expect(response.status).toBe(400);
    return (await failedBody(response)).error.details?.map(({ path }) => path);
  };
  test.each(IDS)("%s: in the query", async (id) => {
    const { path } = SAMPLES[id];
    for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty", "unknown"]) {
      const query = `${path}${path.includes("?") ? "&" : "?"}${name}=x`;
      expect(await named(await api.call(query, initOf(operationOf(id).method, SAMPLES[id])))).toEqual([name]);
    }
    expect(api.seen).toEqual([]);
  });
  const withJson = IDS.filter((id) => operationOf(id).body !== undefined && operationOf(id).body !== "image");
  test.each(withJson)("%s: in the body", async (id) => {
    for (const name of ["constructor", "__proto__", "unknown"]) {
      const fields = JSON.stringify(SAMPLES[id].body).slice(1, -1);
      const body = `{${fields}${fields === "" ? "" : ","}"${name}":{"x":1}}`;
      const headers = { "content-type": "application/json" };
      const response = await api.call(SAMPLES[id].path, { method: operationOf(id).method, body, headers });
      expect(await named(response)).toEqual([name]);
    }
    expect(api.seen).toEqual([]);
  });
});

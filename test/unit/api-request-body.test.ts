import { afterAll, describe, expect, test } from "vitest";
import { failedBody, lastArguments, OWNER, rate, startApi } from "./api-fixture.ts";

const project = {
  id: "0e8a1f3c-2a1b-4c7d-8e9f-1a2b3c4d5e6f",
  owner_id: OWNER,
  title: "t",
  text_prompt: "p",
  description: "",
  reference_image_path: null,
  selected_first_frame_id: null,
  selected_last_frame_id: null,
  created_at: "2026-11-21T12:00:00.5+00:00",
  updated_at: "2026-11-21T12:00:00.5+00:00",
};
const api = await startApi(() => Response.json({ project, replayed: false, rate: { ...rate, policy: "create" } }));
afterAll(api.stop);

const send = (body: BodyInit | null, headers: Record<string, string> = {}) =>
  api.call("/api/projects", { method: "POST", body, headers: { "content-type": "application/json", ...headers } });
const stream = (chunks: number, size: number) => {
  let sent = 0;
  let isCanceled = false;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent === chunks) return controller.close();
      sent += 1;
      controller.enqueue(new Uint8Array(size).fill(0x20));
    },
    cancel() {
      isCanceled = true;
    },
  });
  return { body, sent: () => sent, isCanceled: () => isCanceled };
};

async function refused(response: Response, status: number, code: string, path?: string) {
  const body = await failedBody(response);
  expect([response.status, body.error.code]).toEqual([status, code]);
  if (path !== undefined) expect(body.error.details?.map((detail) => detail.path)).toEqual([path]);
  return body.error;
}

const good = { title: "t", textPrompt: "p" };

test("a good body → 201 with the project, as the interface names its fields", async () => {
  const response = await api.post("/api/projects", good);
  expect([response.status, await response.json()]).toEqual([
    201,
    {
      success: true,
      data: {
        projectId: project.id,
        title: "t",
        textPrompt: "p",
        description: "",
        referenceImagePath: null,
        selected: { "first-frame": null, "last-frame": null },
        createdAt: "2026-11-21T12:00:00.500Z",
        updatedAt: "2026-11-21T12:00:00.500Z",
      },
      error: null,
    },
  ]);
  expect(response.headers.get("ratelimit-policy")).toBe('"create";q=60;w=60');
  expect(response.headers.get("ratelimit")).toBe('"create";r=59;t=1');
  expect(response.headers.get("cache-control")).toBe("no-store");
});

test("the one call to the database carries the caller's own token", async () => {
  const before = api.seen.length;
  await api.post("/api/projects", good);
  expect(
    api.seen
      .slice(before)
      .map(({ method, path, headers }) => [method, path, headers.get("authorization"), headers.get("apikey")]),
  ).toEqual([["POST", "/rest/v1/rpc/create_project", `Bearer ${api.token}`, "sb_publishable_test"]]);
});

describe("size", () => {
  test("64 KiB and one byte → 413, 64 KiB → read", async () => {
    const filler = (length: number) => `${JSON.stringify(good)}${" ".repeat(length - JSON.stringify(good).length)}`;
    await refused(await send(filler(65_537)), 413, "payload_too_large");
    expect((await send(filler(65_536))).status).toBe(201);
  });
  test("a Content-Length above the limit → 413 without reading", async () => {
    await refused(await send("{}", { "content-length": "65537" }), 413, "payload_too_large");
  });
  test.each([{}, { "content-length": "2" }])(
    "a stream without an end, headers %j → 413 once the limit is passed",
    async (headers) => {
      const { body, sent, isCanceled } = stream(Number.POSITIVE_INFINITY, 16_384);
      await refused(await send(body, headers), 413, "payload_too_large");
      expect(sent()).toBeLessThan(8);
      expect(isCanceled()).toBe(true);
    },
  );
});

test("a body that comes in pieces, a character split between two of them → read whole", async () => {
  const bytes = new TextEncoder().encode(JSON.stringify({ ...good, title: "ä😀" }));
  for (const size of [1, 7, bytes.length - 1, bytes.length]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.slice(at * size, (at + 1) * size),
    );
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const piece of pieces) controller.enqueue(piece);
        controller.close();
      },
    });
    expect((await send(body)).status).toBe(201);
    expect(lastArguments(api)).toMatchObject({ title: "ä😀" });
  }
});

test("a body that breaks off → 400 invalid_request", async () => {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"title"'));
      controller.error(new Error("gone"));
    },
  });
  await refused(await send(body), 400, "invalid_request");
});

describe("media type", () => {
  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/jsonx",
    "",
    "application/json; charset=latin1",
  ])("%s → 415", async (contentType) => {
    await refused(await send(JSON.stringify(good), { "content-type": contentType }), 415, "unsupported_media_type");
  });
  test.each(["application/json; charset=utf-8", "Application/JSON", 'application/json;charset="UTF-8"'])(
    "%s → read",
    async (contentType) => {
      expect((await send(JSON.stringify(good), { "content-type": contentType })).status).toBe(201);
    },
  );
  test("a compressed body → 415", async () => {
    await refused(await send(JSON.stringify(good), { "content-encoding": "gzip" }), 415, "unsupported_media_type");
  });
});

describe("JSON", () => {
  test.each(["", "{", "undefined", "{'title':1}", '{"title":"t",}', "NaN", "[".repeat(60_000)])(
    "%.20s → 400 invalid_json",
    async (body) => {
      await refused(await send(body), 400, "invalid_json");
    },
  );
  test("bytes that are no UTF-8 → 400 invalid_json", async () => {
    await refused(await send(new Uint8Array([0x22, 0xff, 0x22])), 400, "invalid_json");
  });
  test("the message of broken JSON does not repeat it", async () => {
    expect((await refused(await send('{"textPrompt": my private words'), 400, "invalid_json")).message).not.toMatch(
      "private",
    );
  });
});

describe("fields → 400 invalid_request that names them", () => {
  test.each<[unknown, string]>([
    [{ textPrompt: "p" }, "title"],
    [{ title: "t" }, "textPrompt"],
    [{ ...good, title: "" }, "title"],
    [{ ...good, title: 1 }, "title"],
    [{ ...good, title: null }, "title"],
    [{ ...good, title: "a".repeat(201) }, "title"],
    [{ ...good, textPrompt: "a".repeat(4001) }, "textPrompt"],
    [{ ...good, description: "a".repeat(4001) }, "description"],
    [{ ...good, title: "nul\0" }, "title"],
    [{ ...good, title: "half \ud83c" }, "title"],
    [{ ...good, ownerId: OWNER }, "ownerId"],
    [[good], ""],
    ["text", ""],
    [null, ""],
    [{ ...good, constructor: {} }, "constructor"],
  ])("%.60j → %s", async (body, path) => {
    const error = await refused(await api.post("/api/projects", body), 400, "invalid_request", path);
    expect(error.details?.[0]?.message).toMatch(/^[A-Z].*\.$/);
  });
  test("__proto__ is an unknown field like any other", async () => {
    await refused(
      await send('{"title":"t","textPrompt":"p","__proto__":{"admin":true}}'),
      400,
      "invalid_request",
      "__proto__",
    );
    expect("admin" in {}).toBe(false);
  });
  test("a thousand unknown fields → an answer that stays small", async () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`field${index}${"x".repeat(30)}`, 1]));
    const response = await api.post("/api/projects", { ...good, ...many });
    expect((await response.text()).length).toBeLessThan(5000);
  });
  test("characters count as Postgres counts them: 200 emoji fit a title", async () => {
    expect((await api.post("/api/projects", { ...good, title: "🎬".repeat(200) })).status).toBe(201);
    await refused(
      await api.post("/api/projects", { ...good, title: "🎬".repeat(201) }),
      400,
      "invalid_request",
      "title",
    );
  });
  test("a query string on a path that takes none → the parameter is named", async () => {
    await refused(await api.post("/api/projects?title=t", good), 400, "invalid_request", "title");
  });
});

describe("Idempotency-Key", () => {
  const hashOf = async (body: string, headers: Record<string, string> = {}, path = "/api/projects") => {
    await api.call(path, {
      method: "POST",
      body,
      headers: { "content-type": "application/json", "idempotency-key": "k", ...headers },
    });
    const sent: unknown = JSON.parse(new TextDecoder().decode(api.seen.at(-1)?.body));
    return sent as { idempotency_key?: string; request_hash?: string }; // what the API sent to the database
  };
  test("key and hash go to the database; without a key neither does", async () => {
    const sent = await hashOf(JSON.stringify(good), { "idempotency-key": "!~key" });
    expect([sent.idempotency_key, sent.request_hash]).toEqual(["!~key", expect.stringMatching(/^[0-9a-f]{64}$/)]);
    await api.post("/api/projects", good);
    expect(new TextDecoder().decode(api.seen.at(-1)?.body)).not.toMatch(/idempotency|hash/);
  });
  test("white space and the order of fields do not matter to the hash, values do", async () => {
    const one = await hashOf('{"title":"t","textPrompt":"p"}');
    expect((await hashOf('{ "textPrompt" : "p", "title":"t" }')).request_hash).toBe(one.request_hash);
    expect((await hashOf('{"title":"t","textPrompt":"q"}')).request_hash).not.toBe(one.request_hash);
  });
  test.each(["", "two words", "ü", "a".repeat(256)])("%.20j → 400 that names the header", async (key) => {
    const headers = new Headers({ "content-type": "application/json", "idempotency-key": key });
    await refused(
      await api.call("/api/projects", { method: "POST", body: JSON.stringify(good), headers }),
      400,
      "invalid_request",
      "Idempotency-Key",
    );
  });
});

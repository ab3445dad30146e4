import { expect, onTestFinished, test } from "vitest";
import type { Step } from "../../../client/index.ts";
import { predictionWith, REF, refusal, useScriptedServer } from "../../support/client/server.ts";

const server = await useScriptedServer();
const keyframe = server.client();

const { projectId } = REF;

const page = { projects: [], nextCursor: null };
const project = { title: "Harbour", textPrompt: "A harbour" };
const image = new Uint8Array([137, 80, 78, 71]);

test.each([
  ["a Uint8Array", image],
  ["a part of a larger buffer", new Uint8Array([0, ...image, 0]).subarray(1, 5)],
  ["an ArrayBuffer", image.buffer],
  ["a Blob", new Blob([image])],
  ["a File whose type is wrong", new File([image], "look.gif", { type: "image/gif" })],
])("uploadReferenceImage of %s → its bytes, their kind left to the service", async (_, given) => {
  server.play({ status: 201, data: { referenceImagePath: "projects/a.png" } });
  expect(await keyframe.uploadReferenceImage(given)).toEqual({ referenceImagePath: "projects/a.png" });
  expect([...(server.seen[0]?.body ?? [])]).toEqual([...image]);
  expect(server.seen[0]?.headers["content-type"]).toBe("application/octet-stream");
});

test("a change or deletion with unchangedSince → If-Match with the ETag; without it → no If-Match", async () => {
  const unchangedSince = { updatedAt: "2026-11-21T12:00:00.000Z" };
  server.play(...Array.from({ length: 8 }, () => ({ data: project })));
  for (const options of [{ unchangedSince }, {}]) {
    await keyframe.projects.change(projectId, { title: "b" }, options);
    await keyframe.projects.delete(projectId, options);
    await keyframe.films.change(projectId, { projectIds: [projectId] }, options);
    await keyframe.films.delete(projectId, { projects: "delete" }, options);
  }
  const tag = '"2026-11-21T12:00:00.000Z"';
  expect(server.seen.map(({ headers }) => headers["if-match"])).toEqual([...Array(4).fill(tag), ...Array(4)]);
  expect(server.seen[3]?.url).toBe(`/functions/v1/api/films/${projectId}?projects=delete`);
});

test("readShared → uses only the link's token: getToken is not called, and no error has the token", async () => {
  const getToken = () => Promise.reject(new Error("Nobody is signed in."));
  const anybody = server.client({ getToken, retries: 0 });
  const token = "t".repeat(43);
  server.play({ data: { title: "The pier", shots: [] } }, (response) => void response.destroy());
  expect(await anybody.films.readShared(token)).toEqual({ title: "The pier", shots: [] });
  expect([server.seen[0]?.url, server.seen[0]?.headers.authorization]).toEqual([
    `/functions/v1/api/shared/${token}`,
    undefined,
  ]);
  const { code, message, cause } = Object(await anybody.films.readShared(token).catch((error: unknown) => error));
  expect([code, message.includes("/shared/…"), `${message} ${cause}`.includes(token)]).toEqual([
    "network",
    true,
    false,
  ]);
});

test("an idempotencyKey → sent as it is; two calls without one → two different keys", async () => {
  server.play(...Array.from({ length: 3 }, () => ({ status: 201, data: project })));
  await keyframe.projects.create(project, { idempotencyKey: "draft-1" });
  await keyframe.projects.create(project);
  await keyframe.projects.create(project);
  const keys = server.seen.map(({ headers }) => headers["idempotency-key"]);
  expect(keys[0]).toBe("draft-1");
  expect(new Set(keys).size).toBe(3);
});

test.each(["", "a b", "é", "a\nb", "x".repeat(256)])("the idempotencyKey %j → TypeError, nothing sent", async (key) => {
  server.play();
  await expect(keyframe.projects.create(project, { idempotencyKey: key })).rejects.toThrow(TypeError);
  expect(server.seen).toEqual([]);
});

test.each(["", ".", ".."])("the id %j, which would change the path → TypeError, nothing sent", async (id) => {
  server.play();
  await expect(keyframe.projects.delete(id)).rejects.toThrow("projectId must be an id");
  expect(server.seen).toEqual([]);
});

test("an id with a slash → stays one segment of the path", async () => {
  server.play({ data: {} });
  await keyframe.projects.read("../webhooks?x#y");
  expect(server.seen[0]?.url).toBe("/functions/v1/api/projects/..%2Fwebhooks%3Fx%23y");
});

test.each(["first_frame", "firstFrame", "toString", undefined])(
  "the step %j → TypeError with the valid names",
  async (step) => {
    server.play();
    // @ts-expect-error as JavaScript gives it
    const given: Step = step;
    const calls = [
      () => keyframe.generate(given, { projectId }),
      () => keyframe.waitFor({ ...REF, step: given }),
      () => keyframe.films.generate("film", given),
      () => keyframe.films.estimate("film", given),
    ];
    for (const call of calls)
      await expect(call()).rejects.toThrow(
        new TypeError(`There is no step ${JSON.stringify(step)}. The steps are "first-frame", "last-frame", "video".`),
      );
    expect(server.seen).toEqual([]);
  },
);

test("the option wait → Prefer: wait, of a start and of a read; more than the service allows → TypeError", async () => {
  server.play({ status: 202, data: { ...REF } }, { data: { ...REF } });
  await keyframe.generate("first-frame", { projectId }, { wait: 25 });
  await keyframe.predictions.read(REF, { wait: 5 });
  expect(server.seen.map(({ headers }) => headers.prefer)).toEqual(["wait=25", "wait=5"]);
  for (const wait of [0, 26, 1.5]) await expect(keyframe.predictions.read(REF, { wait })).rejects.toThrow(TypeError);
});

test("the option apikey → sent with each request", async () => {
  server.play({ data: page });
  await server.client({ apikey: "sb_publishable_1" }).projects.list();
  expect(server.seen[0]?.headers.apikey).toBe("sb_publishable_1");
});

test("a url with a path, as self-hosted projects have → kept in each request", async () => {
  server.play({ data: page });
  await server.client({ url: `${server.url}/supabase/` }).projects.list();
  expect(server.seen[0]?.url).toBe("/supabase/functions/v1/api/projects");
});

test("methods taken out of the client object → work without this", async () => {
  const { read } = keyframe.projects;
  const { list } = keyframe.webhooks;
  server.play({ data: project }, { data: { webhooks: [] } });
  expect([await read(projectId), await list()]).toEqual([project, { webhooks: [] }]);
});

test.each([
  ["without the option `cache`, as in older Cloudflare Workers → fetch does not get it", false, undefined],
  ["with it, as in Node → no-store, for Next.js would keep the answers", true, "no-store"],
])("a start, and polls with an ETag, in a runtime %s", async (_, hasCache, cache) => {
  const own = Object.getOwnPropertyDescriptor(Request.prototype, "cache");
  onTestFinished(() => {
    Reflect.deleteProperty(Request.prototype, "cache");
    if (own) Object.defineProperty(Request.prototype, "cache", own);
  });
  Reflect.deleteProperty(Request.prototype, "cache");
  if (hasCache) Object.defineProperty(Request.prototype, "cache", { configurable: true, value: "default" });
  const options: unknown[] = [];
  const noting = (url: string, init: RequestInit) => {
    options.push([init.redirect, init.cache]);
    return fetch(url, init);
  };
  const keyframe = server.client({ fetch: noting });
  const ended = predictionWith({ status: "canceled" });
  server.play({ status: 202, data: predictionWith(), headers: { etag: '"1"' } }, { data: ended });
  await keyframe.waitFor(await keyframe.generate("video", { projectId }));
  expect(server.seen[1]?.headers["if-none-match"]).toBe('"1"');
  expect(options).toEqual(Array(2).fill(["manual", cache]));
});

test("fetch fails with an error that Next.js uses to leave a page → that error, not repeated", async () => {
  const left = Object.assign(new Error("Dynamic server usage"), { digest: "DYNAMIC_SERVER_USAGE" });
  let asked = 0;
  const keyframe = server.client({
    fetch: async () => {
      asked += 1;
      throw left;
    },
  });
  await expect(keyframe.projects.read(projectId)).rejects.toBe(left);
  expect(asked).toBe(1);
});

test("projects.each → every row of every page, also after an empty one, with the same query", async () => {
  const pages = [
    { projects: [1, 2], nextCursor: "c+1" },
    { projects: [], nextCursor: "c2" },
    { projects: [3], nextCursor: null },
  ];
  server.play(...pages.map((data) => ({ data })));
  const projects = server.client().projects.each({ limit: 2, include: "predictions" });
  expect(await Array.fromAsync(projects)).toEqual([1, 2, 3]);
  const query = "limit=2&include=predictions";
  expect(server.seen.map(({ url }) => url.split("?")[1])).toEqual([
    query,
    `${query}&cursor=c%2B1`,
    `${query}&cursor=c2`,
  ]);
});

test("projects.each without reading a row → no request; a loop that ends early → no further request", async () => {
  server.play({ data: { projects: [1, 2], nextCursor: "c1" } });
  const projects = server.client().projects.each();
  expect(server.seen).toEqual([]);
  for await (const _ of projects) break;
  expect(server.seen).toHaveLength(1);
});

test("projects.each with a page that is refused → the loop throws, after the rows before it", async () => {
  server.play({ data: { projects: [1], nextCursor: "c1" } }, refusal(400, "invalid_request"));
  const found: unknown[] = [];
  const loop = async () => {
    for await (const project of server.client().projects.each()) found.push(project);
  };
  await expect(loop()).rejects.toMatchObject({ code: "invalid_request" });
  expect(found).toEqual([1]);
});

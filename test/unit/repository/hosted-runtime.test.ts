import { createHash } from "node:crypto";
import { SignJWT } from "jose";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { drawImage } from "../../support/media/images.ts";
import { pngChunk } from "../../support/media/photos.ts";
import { openUnfinished } from "../../support/security/open-unfinished.ts";
import { claimPort } from "../../../local/network.ts";
import { SCHEMA_VERSION } from "../../../shared/platform/schema-version.ts";
import { sign } from "../../../local/sign.ts";
import { connectAgent } from "../../support/mcp/agent.ts";
import { bootHosted, HOSTED_DENO, HOSTED_SECRET, hostedDenoMissing, runHosted } from "../../support/hosted/deno.ts";
import type { HostedPosts } from "../../support/hosted/posts.ts";
import { until } from "../../support/until.ts";
import { answer, receive, receiveSecurely } from "../../support/receiver/raw-receiver.ts";
import { delivery } from "../deliver/fixture.ts";

if (hostedDenoMissing !== undefined) {
  console.warn(`NOT RUN: the functions on the hosted platform's Deno. ${hostedDenoMissing}.`);
}

/** The outcomes of posts made there; by default the lookup returns 127.0.0.1. */
const post = (posts: Partial<HostedPosts> & { urls: string[] }) =>
  runHosted("test/support/hosted/posts.ts", "keyframe-deliver", "anywhere", [
    JSON.stringify({ resolvesTo: ["127.0.0.1"], allowLocal: true, ...posts } satisfies HostedPosts),
  ]);

/** A database that is there and answers each call with what it is given. */
function serveDatabase(call: (name: string, given: unknown) => unknown): string {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) =>
    Response.json(call(new URL(request.url).pathname.replace("/rest/v1/rpc/", ""), await request.json()) ?? null),
  );
  onTestFinished(() => server.shutdown());
  return `http://127.0.0.1:${server.addr.port}`;
}

async function drawLarge(): Promise<Uint8Array<ArrayBuffer>> {
  const image = await drawImage();
  return await new Blob([image.subarray(0, 33), pngChunk("teXt", "x".repeat(300_000)), image.subarray(33)]).bytes();
}

/** Storage that keeps what was uploaded whole, and a file server beside it. */
function serveFiles(source: (request: Request) => Response) {
  const stored: Uint8Array[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    if (request.method === "GET") return source(request);
    const bytes = await request.bytes().catch(() => null);
    if (bytes !== null) stored.push(bytes);
    return Response.json({ Key: "a/b.png" });
  });
  onTestFinished(() => server.shutdown());
  const host = `127.0.0.1:${server.addr.port}`;
  const copy = () =>
    runHosted(
      "test/support/hosted/store.ts",
      "keyframe-generate",
      [host],
      [`http://${host}/out.png`, `http://${host}`],
    );
  return { stored, copy };
}

async function expectUnsignedRefused(url: string): Promise<void> {
  const response = await fetch(url, { method: "POST", body: "{}" });
  expect([response.status, await response.json()]).toMatchObject([401, { error: { code: expect.any(String) } }]);
}

describe.skipIf(hostedDenoMissing !== undefined)("on the hosted platform's Deno", () => {
  let webhook: string;
  /** Its ten seconds pass while other tests run. */
  let stalled: Awaited<ReturnType<typeof openUnfinished>>;
  beforeAll(async () => {
    const ends: (() => Promise<void>)[] = [];
    webhook = await bootHosted("keyframe-replicate-webhook", "http://127.0.0.1:9", {}, (end) => void ends.push(end));
    stalled = await openUnfinished(webhook, {}, 1000, new TextEncoder().encode("{"));
    return async () => {
      stalled.close();
      for (const end of ends) await end();
    };
  });

  test("the hosted platform's Deno → version 2.1", async () => {
    const { stdout } = await new Deno.Command(HOSTED_DENO, { args: ["--version"] }).output();
    expect(new TextDecoder().decode(stdout)).toMatch(/^deno 2\.1\./);
  });

  test("GET /api/health on the hosted Deno → 200, after a call to the database", async () => {
    const api = await bootHosted(
      "api",
      serveDatabase(() => ({ schema: SCHEMA_VERSION, writes: "ok" })),
    );
    const response = await fetch(`${api}/health`);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ data: { status: "ok", database: "ok" } });
  });

  test("keyframe-mcp on the hosted Deno, without a session → 401; with one → its tools, and a call that asks the database", async () => {
    const database = serveDatabase(() => ({ films: [], rate: null }));
    const secret = "a secret of a project, 32 bytes long";
    const mcp = await bootHosted("keyframe-mcp", database, { KEYFRAME_JWT_SECRET: secret });
    await expectUnsignedRefused(mcp);
    const token = await new SignJWT({ role: "authenticated" })
      .setProtectedHeader({ alg: "HS256" })
      .setSubject(crypto.randomUUID())
      .setIssuer(`${database}/auth/v1`)
      .setAudience("authenticated")
      .setExpirationTime("1 hour")
      .sign(new TextEncoder().encode(secret));
    const agent = await connectAgent(token, mcp);
    expect((await agent.client.listTools()).tools.map(({ name }) => name)).toContain("estimate_video");
    expect(await agent.ask("list_films")).toEqual({ films: [] });
    await agent.close();
  });

  test("POST to keyframe-generate without a signature, on the hosted Deno → 401", async () => {
    await expectUnsignedRefused(await bootHosted("keyframe-generate", "http://127.0.0.1:9"));
  });

  test("deliver on the hosted Deno, kicked without a signature → 401; with one → posts the event and records the answer", async () => {
    const receiver = await receive((socket) => socket.write(answer("200 OK", "thanks")));
    const recorded: unknown[] = [];
    const { id, attempt, endpoint_id, event_id, body } = delivery("");
    const due = [{ id, work_id: 1, attempt, event_id, body }];
    const database = serveDatabase((_name, given) => {
      recorded.push(...(given as { results: unknown[] }).results); // as createExchange sends it
      const url = `http://localhost:${receiver.port}/in`;
      const deliveries = due.splice(0);
      const claimed = { endpoint_id, url, max_open: 8, secrets: [HOSTED_SECRET], deliveries };
      return { endpoints: deliveries.length > 0 ? [claimed] : [], unrecorded: [], cursors: [], more: false };
    });
    const url = await bootHosted("keyframe-deliver", database);
    await expectUnsignedRefused(url);
    const headers = sign(HOSTED_SECRET, "kick", new Date(), "{}");
    const response = await fetch(url, { method: "POST", headers, body: "{}" });
    expect(response.status).toBe(202);
    await response.body?.cancel();
    await until("the result is recorded", () => recorded.length > 0);
    expect(recorded).toMatchObject([{ id, status_code: 200, error: null, response_excerpt: "thanks" }]);
    expect(receiver.requests).toMatchObject([expect.stringContaining(body)]);
  });

  test("two posts over http on the hosted Deno, answered 100 and 103 before 200 → delivered over one connection", async () => {
    const before = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n";
    const receiver = await receive((socket) => socket.write(before + answer("200 OK", "ok")));
    const url = `http://hooks.test:${receiver.port}/in?a=1`;
    expect(await post({ urls: [url, url] })).toEqual(
      Array(2).fill({ statusCode: 200, error: null, excerpt: "ok" }), // no retryAfter: JSON has no undefined
    );
    expect(receiver.requests).toHaveLength(2);
    expect(receiver.connections()).toBe(1);
    expect(receiver.requests[0]).toContain(`host: hooks.test:${receiver.port}\r\n`);
    expect(receiver.requests[0]).toContain('{"a":"ä"}');
  });

  test("two posts over https with a private certificate authority, on the hosted Deno → delivered after one handshake", async () => {
    const { port, ca, connections } = await receiveSecurely();
    const url = `https://hooks.test:${port}/`;
    // The first address refuses: the second is tried, and its handshake is as good.
    const posted = await post({ urls: [url, url], resolvesTo: ["::1", "127.0.0.1"], ca });
    expect(posted).toMatchObject(Array(2).fill({ statusCode: 200, excerpt: `hooks.test hooks.test:${port}` }));
    expect(connections()).toBe(1);
  });

  test("posts that fail on the hosted Deno → tls, connection, too_large, timeout, dns or address, as on other versions", async () => {
    const secure = await receiveSecurely();
    const plain = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    onTestFinished(() => plain.close());
    void plain.accept().then((connection) => connection.write(new TextEncoder().encode(answer("400 Bad Request"))));
    const endless = await receive((socket) => socket.end(`HTTP/1.1 200 OK\r\nx-much: ${"y".repeat(300_000)}\r\n\r\n`));
    const silent = await receive(() => {});
    const failing: [string, string][] = [
      [`https://hooks.test:${secure.port}/`, "tls"], // a certificate that nobody vouches for
      [`https://hooks.test:${plain.addr.port}/`, "tls"],
      [`http://hooks.test:${claimPort(0)}/`, "connection"],
      [`http://hooks.test:${endless.port}/`, "too_large"],
      [`https://hooks.test:${silent.port}/`, "timeout"],
      [`http://hooks.test:${silent.port}/`, "timeout"],
    ];
    const ended = (errors: string[]) => errors.map((error) => expect.objectContaining({ statusCode: null, error }));
    const posted = await post({ urls: failing.map(([url]) => url), timeoutMs: 2_000 });
    expect(posted).toEqual(ended(failing.map(([, error]) => error)));
    const otherName = { urls: [`https://other.test:${secure.port}/`], ca: secure.ca };
    expect(await post(otherName)).toEqual(ended(["tls"]));
    const urls = [`http://hooks.test:${silent.port}/`];
    expect(await post({ urls, resolvesTo: [] })).toEqual(ended(["dns"]));
    expect(await post({ urls, allowLocal: false })).toEqual(ended(["address"]));
    expect([secure.connections(), silent.connections()]).toEqual([0, 2]);
  });

  test("an output on the hosted Deno → streamed into Storage, hashed on its way", async () => {
    const picture = await drawLarge();
    const { stored, copy } = serveFiles(() => new Response(picture));
    expect(await copy()).toEqual({
      refused: null,
      result: {
        ...{ width: 48, height: 27, durationSeconds: null, hasAudio: null },
        bytes: picture.byteLength,
        sha256: createHash("sha256").update(picture).digest("hex"),
      },
    });
    expect(stored).toEqual([picture]);
  });

  test.each<[string, boolean]>([
    ["breaks off", true],
    ["falls silent", false],
  ])(
    "an output that %s halfway → output_unreachable or output_not_usable, and nothing is stored",
    async (_how, ends) => {
      const half = (await drawLarge()).subarray(0, 100_000);
      const silent = () => new ReadableStream({ start: (controller) => controller.enqueue(half) });
      const { stored, copy } = serveFiles(() => new Response(ends ? half : silent()));
      expect(await copy()).toEqual({
        refused: "Storage upload had no answer",
        result: ends ? "output_not_usable" : "output_unreachable",
      });
      expect(stored).toEqual([]);
    },
  );

  test("a body that stops before its end, on the hosted Deno → 408 after 10 s; one in chunks is read to its end", async () => {
    const whole = await openUnfinished(webhook, {}, "chunked", new TextEncoder().encode("2\r\n{}\r\n0\r\n\r\n"));
    onTestFinished(whole.close);
    expect((await whole.answer).status).toBe(401); // for it has no signature
    const { status, body } = await stalled.answer;
    expect([status, JSON.parse(body).error.code]).toEqual([408, "request_timeout"]);
  });
});

import { createHash } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { openUnfinished } from "../../lab/bench/memory/open-unfinished.ts";
import { claimPort } from "../../local/network.ts";
import { FUNCTION_NAMES, HOSTED_DENO, hostedDenoMissing } from "../../local/stack/function-arguments.ts";
import { SCHEMA_VERSION } from "../../shared/platform/schema-version.ts";
import { sign } from "../../shared/webhooks/signature.ts";
import { bootHosted, HOSTED_SECRET, runHosted } from "../support/hosted/deno.ts";
import type { HostedPosts } from "../support/hosted/posts.ts";
import { until } from "../support/until.ts";
import { answer, delivery, receive } from "./deliver-fixture.ts";
import { drawNoise, receiveSecurely, serveDatabase, serveFiles } from "./hosted-servers.ts";

if (hostedDenoMissing !== undefined) {
  console.warn(`NOT RUN: the functions on the hosted platform's Deno. ${hostedDenoMissing}.`);
}

/** The outcomes of posts made there; by default the lookup returns 127.0.0.1. */
const post = (posts: Partial<HostedPosts> & { urls: string[] }) =>
  runHosted("test/support/hosted/posts.ts", "keyframe-deliver", "anywhere", [
    JSON.stringify({ resolvesTo: ["127.0.0.1"], allowLocal: true, ...posts } satisfies HostedPosts),
  ]);

describe.skipIf(hostedDenoMissing !== undefined)("on the hosted platform's Deno", () => {
  test("it is version 2.1", async () => {
    const { stdout } = await new Deno.Command(HOSTED_DENO, { args: ["--version"] }).output();
    expect(new TextDecoder().decode(stdout)).toMatch(/^deno 2\.1\./);
  });

  test("GET /api/health → 200, after a question to the database", async () => {
    const api = await bootHosted(
      "api",
      serveDatabase(() => ({ now: "2026-02-03T04:05:06Z", schema: SCHEMA_VERSION })),
    );
    const response = await fetch(`${api}/health`);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ data: { status: "ok", database: "ok" } });
  });

  test.each(FUNCTION_NAMES.filter((name) => name !== "api"))("POST /%s without a signature → 401", async (name) => {
    const url = await bootHosted(name, "http://127.0.0.1:9");
    const response = await fetch(url, { method: "POST", body: "{}" });
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ error: { code: expect.any(String) } });
  });

  test("a body that stops before its end → 408 after 10 s; one in chunks is read whole", async () => {
    const url = await bootHosted("keyframe-replicate-webhook", "http://127.0.0.1:9");
    const stalled = await openUnfinished(url, {}, 1000, new TextEncoder().encode("{"));
    const whole = await openUnfinished(url, {}, "chunked", new TextEncoder().encode("2\r\n{}\r\n0\r\n\r\n"));
    onTestFinished(() => {
      for (const { close } of [stalled, whole]) close();
    });
    expect((await whole.answer).status).toBe(401);
    const { status, body } = await stalled.answer;
    expect([status, JSON.parse(body).error.code]).toEqual([408, "request_timeout"]);
  });

  test("a kick → deliver resolves the name, posts the event and records the answer", async () => {
    const receiver = await receive((socket) => socket.write(answer("200 OK", "thanks")));
    const recorded: unknown[] = [];
    const { id, attempt, laneToken, endpointId, eventId, body } = delivery("");
    const due = [{ id, attempt, event_id: eventId, body }];
    const database = serveDatabase((_name, given) => {
      recorded.push(...(given as { results: unknown[] }).results); // as createExchange sends it
      const url = `http://localhost:${receiver.port}/in`;
      const lane = { endpoint_id: endpointId, token: laneToken, owner_id: endpointId, max_open: 8 };
      const deliveries = due.splice(0);
      return {
        lanes: deliveries.length > 0 ? [{ ...lane, url, secrets: [HOSTED_SECRET], deliveries }] : [],
        ended: [],
      };
    });
    const url = await bootHosted("keyframe-deliver", database);
    const headers = sign(HOSTED_SECRET, "kick", new Date(), "{}");
    const response = await fetch(url, { method: "POST", headers, body: "{}" });
    expect(response.status).toBe(202);
    await response.body?.cancel();
    await until("the result is recorded", () => recorded.length > 0);
    expect(recorded).toMatchObject([{ id, status_code: 200, error: null, response_excerpt: "thanks" }]);
    expect(receiver.requests).toMatchObject([expect.stringContaining(body)]);
  });

  test("two posts over http, answered 100 and 103, unrequested, before 200 → delivered to where the lookup says, over one connection", async () => {
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

  test("two posts over https, with a private certificate authority → delivered, after one handshake", async () => {
    const { port, ca, connections } = await receiveSecurely();
    const url = `https://hooks.test:${port}/`;
    // The first address refuses: the second is tried, and its handshake is as good.
    const posted = await post({ urls: [url, url], resolvesTo: ["::1", "127.0.0.1"], ca });
    expect(posted).toMatchObject(Array(2).fill({ statusCode: 200, excerpt: "ok" }));
    expect(connections()).toBe(1);
  });

  test("an untrusted certificate, and one for another name → tls", async () => {
    const { port, ca, connections } = await receiveSecurely();
    expect(await post({ urls: [`https://hooks.test:${port}/`] })).toMatchObject([{ statusCode: null, error: "tls" }]);
    expect(await post({ urls: [`https://other.test:${port}/`], ca })).toMatchObject([{ error: "tls" }]);
    expect(connections()).toBe(0);
  });

  test("a receiver that speaks no TLS → tls", async () => {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    onTestFinished(() => listener.close());
    void listener.accept().then((connection) => connection.write(new TextEncoder().encode(answer("400 Bad Request"))));
    expect(await post({ urls: [`https://hooks.test:${listener.addr.port}/`] })).toMatchObject([{ error: "tls" }]);
  });

  test("a name that leads to this machine, where that is forbidden → address, and no connection is made", async () => {
    const receiver = await receive((socket) => socket.write(answer("200 OK")));
    const urls = [`http://hooks.test:${receiver.port}/`];
    expect(await post({ urls, allowLocal: false })).toMatchObject([{ statusCode: null, error: "address" }]);
    expect(receiver.connections()).toBe(0);
  });

  test("no answer in time, in the handshake or after the request → timeout", async () => {
    const { port } = await receive(() => {});
    const urls = [`https://hooks.test:${port}/`, `http://hooks.test:${port}/`];
    expect(await post({ urls, timeoutMs: 200 })).toMatchObject(Array(2).fill({ statusCode: null, error: "timeout" }));
  });

  test("nothing listens, a name without an address, a head without end → connection, dns, too_large", async () => {
    const [unused, endless] = [
      `http://hooks.test:${claimPort(0)}/`,
      await receive((socket) => socket.end(`HTTP/1.1 200 OK\r\nx-much: ${"y".repeat(300_000)}\r\n\r\n`)),
    ];
    expect(await post({ urls: [unused, `http://hooks.test:${endless.port}/`] })).toMatchObject([
      { error: "connection" },
      { error: "too_large" },
    ]);
    expect(await post({ urls: [unused], resolvesTo: [] })).toMatchObject([{ error: "dns" }]);
  });

  test("an output → streamed into Storage byte by byte, hashed on its way", async () => {
    const picture = await drawNoise();
    const { stored, copy } = serveFiles(() => new Response(picture));
    expect(await copy()).toEqual({
      refused: null,
      result: {
        width: 480,
        height: 270,
        durationSeconds: null,
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
      const half = (await drawNoise()).subarray(0, 100_000);
      const { stored, copy } = serveFiles(
        () =>
          new Response(
            new ReadableStream({
              start(controller) {
                controller.enqueue(half);
                if (ends) controller.close();
              },
            }),
          ),
      );
      expect(await copy()).toEqual({
        refused: "Storage upload had no answer",
        result: ends ? "output_not_usable" : "output_unreachable",
      });
      expect(stored).toEqual([]);
    },
  );
});

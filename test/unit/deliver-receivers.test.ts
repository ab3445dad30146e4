import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { createCheckedLookup } from "../../supabase/functions/keyframe-deliver/send/checked-lookup.ts";
import { createPost } from "../../supabase/functions/keyframe-deliver/send/post.ts";
import { answer, delivery, makeAttempt, receive, resolveHere } from "./deliver-fixture.ts";

/** What an attempt at a receiver that behaves so comes to. */
async function attemptAt(behave: (socket: Socket) => void, settings: Parameters<typeof makeAttempt>[0] = {}) {
  const receiver = await receive(behave);
  const result = await makeAttempt(settings)(delivery(`http://hooks.test:${receiver.port}/in?a=1`));
  return { result, receiver };
}

const SHORT = { timeoutMs: 150 };

test("200 → delivered, with what the row needs", async () => {
  const { result } = await attemptAt((socket) => socket.write(answer("200 OK", "thanks")), {
    now: () => Date.parse("2026-02-03T04:05:06.789Z"),
  });
  expect(result).toEqual({
    id: delivery("").id,
    attempt: 1,
    lane_token: delivery("").laneToken,
    started_at: "2026-02-03T04:05:06.789Z",
    duration_ms: 0,
    status_code: 200,
    error: null,
    response_excerpt: "thanks",
    retry_after_seconds: null,
  });
});

test("the request → path, host, headers and body exactly as documented, and no others", async () => {
  const { receiver } = await attemptAt((socket) => socket.write(answer("204 No Content")), {
    now: () => 1_770_000_000_999,
  });
  const [head = "", body] = (receiver.requests[0] ?? "").split("\r\n\r\n");
  const [line, ...headers] = head.split("\r\n");
  expect(line).toBe("POST /in?a=1 HTTP/1.1");
  expect(body).toBe(delivery("").body);
  expect(Object.fromEntries(headers.map((header) => header.toLowerCase().split(": ")))).toEqual({
    host: `hooks.test:${receiver.port}`,
    connection: "keep-alive",
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(delivery("").body)),
    "user-agent": "keyframe-webhooks/1",
    "webhook-id": delivery("").eventId,
    "webhook-timestamp": "1770000000",
    "webhook-signature": expect.stringMatching(/^v1,[a-z0-9+/]{43}=$/),
  });
});

test.each([
  ["has no secret", []],
  ["has a secret that cannot be read", ["whsec_ä"]],
])(
  "an endpoint that %s → a failed attempt and a line in the log, and nobody is connected to",
  async (_what, secrets) => {
    const receiver = await receive((socket) => socket.write(answer("200 OK")));
    const lines: string[] = [];
    const result = await makeAttempt({ lines })(delivery(`http://hooks.test:${receiver.port}/`, { secrets }));
    expect(result).toMatchObject({ status_code: null, error: "connection", response_excerpt: null });
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      {
        level: "error",
        event: "delivery_not_signed",
        deliveryId: delivery("").id,
        endpointId: delivery("").endpointId,
      },
    ]);
    expect(receiver.connections()).toBe(0);
  },
);

test("an origin that the client refuses → a failed attempt, no rejection", async () => {
  const post = createPost({ lookup: createCheckedLookup(resolveHere, { allowLocal: true }) });
  const posted = await post(new URL("ftp://hooks.test/"), {}, "{}");
  expect(posted).toEqual({ statusCode: null, error: "connection", excerpt: null, retryAfter: undefined });
});

describe("an answer's status", () => {
  test.each<[string, string | null]>([
    ["200 OK", null],
    ["202 Accepted", null],
    ["299 Fine", null],
    ["300 Multiple Choices", "redirect"],
    ["304 Not Modified", "redirect"],
    ["400 Bad Request", "http_status"],
    ["404 Not Found", "http_status"],
    ["410 Gone", "http_status"],
    ["500 Internal Server Error", "http_status"],
    ["503 Service Unavailable", "http_status"],
  ])("%s → %s", async (status, error) => {
    const { result } = await attemptAt((socket) => socket.write(answer(status)));
    expect(result).toMatchObject({ status_code: Number(status.slice(0, 3)), error });
  });

  test("301 to another receiver → a failed attempt, and nobody asks there", async () => {
    const other = await receive((socket) => socket.write(answer("200 OK")));
    const location = `http://hooks.test:${other.port}/`;
    const { result } = await attemptAt((socket) => socket.write(answer("301 Moved", "", { location })));
    expect(result).toMatchObject({ status_code: 301, error: "redirect" });
    expect(other.connections()).toBe(0);
  });

  test.each([
    ["103 Early Hints", "HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\n"],
    ["100 Continue, which nobody asked for", "HTTP/1.1 100 Continue\r\n\r\n"],
    ["100 with headers and without a reason", "HTTP/1.1 100\r\nserver: nginx\r\nconnection: close\r\n\r\n"],
    ["100 between empty lines", "\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n\r\n"],
    ["102, 100, 103 and 100", [102, 100, 103, 100].map((status) => `HTTP/1.1 ${status} Wait\r\nx: y\r\n\r\n`).join("")],
  ])("%s before 200 → the 200 counts, and the connection is used again", async (_what, before) => {
    const receiver = await receive((socket) => socket.write(before + answer("200 OK", "HTTP/1.1 100 is no answer")));
    const attempt = makeAttempt();
    for (let turn = 1; turn <= 2; turn++) {
      const result = await attempt(delivery(`http://hooks.test:${receiver.port}/`));
      expect(result).toMatchObject({ status_code: 200, error: null, response_excerpt: "HTTP/1.1 100 is no answer" });
      expect(receiver.requests).toHaveLength(turn);
    }
    expect(receiver.connections()).toBe(1);
  });

  test("100 and 200, cut at every byte → the 200 counts", async () => {
    const whole = `HTTP/1.1 100 Continue\r\nx: \r\r\n\r\n${answer("200 OK", "ok")}`;
    const attempt = makeAttempt();
    for (let cut = 1; cut < whole.length; cut++) {
      const receiver = await receive((socket) => {
        socket.write(whole.slice(0, cut));
        setImmediate(() => socket.write(whole.slice(cut)));
      });
      const result = await attempt(delivery(`http://hooks.test:${receiver.port}/`));
      expect(result, `cut at ${cut}`).toMatchObject({ status_code: 200, response_excerpt: "ok" });
      expect(receiver.requests).toHaveLength(1);
    }
  });

  test("100 and nothing more → timeout, or connection where it closes", async () => {
    const waits = await attemptAt((socket) => socket.write("HTTP/1.1 100 Continue\r\n\r\n"), SHORT);
    expect(waits.result).toMatchObject({ status_code: null, error: "timeout", response_excerpt: null });
    for (const words of ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Conti", "HTTP/1.1 1"]) {
      const { result } = await attemptAt((socket) => socket.end(words));
      expect(result, words).toMatchObject({ status_code: null, error: "connection", response_excerpt: null });
    }
  });

  test.each([
    ["100", "HTTP/1.1 100 Continue\r\n\r\n"],
    ["103", "HTTP/1.1 103 Early Hints\r\n\r\n"],
    ["empty lines", "\r\n"],
  ])("%s without an end → too_large after 64 KiB", async (_what, words) => {
    const closed = Promise.withResolvers<number>();
    const { result } = await attemptAt((socket) => {
      socket.on("close", () => closed.resolve(socket.bytesWritten));
      const more = () => {
        while (!socket.destroyed && socket.write(words.repeat(500)));
      };
      socket.on("drain", more);
      more();
    });
    expect(result).toMatchObject({ status_code: null, error: "too_large", response_excerpt: null });
    // Beyond what was read only what the two kernels hold between them.
    expect(await closed.promise).toBeLessThan(9_000_000);
  });

  test("100 whose head does not end → too_large after 64 KiB, or timeout before", async () => {
    const { result } = await attemptAt((socket) => socket.write(`HTTP/1.1 100 Continue\r\nx: ${"y".repeat(70_000)}`));
    expect(result).toMatchObject({ status_code: null, error: "too_large" });
    const slow = await attemptAt((socket) => {
      const timer = setInterval(() => socket.write("HTTP/1.1 100 Continue\r\n\r\n"), 20);
      socket.on("close", () => clearInterval(timer));
    }, SHORT);
    expect(slow.result).toMatchObject({ status_code: null, error: "timeout" });
  });

  test.each([
    ["101", "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n"],
    ["101 without the name of a protocol", "HTTP/1.1 101 Switching Protocols\r\n\r\n"],
    ["101 after 100", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 Switching Protocols\r\n\r\n"],
  ])("%s, which nobody asked for → connection", async (_what, words) => {
    const { result } = await attemptAt((socket) => socket.write(words), { timeoutMs: 5_000 });
    expect(result).toMatchObject({ status_code: null, error: "connection", response_excerpt: null });
  });

  test("429 with Retry-After in seconds → handed on", async () => {
    const { result } = await attemptAt((socket) => socket.write(answer("429 Slow Down", "", { "retry-after": "120" })));
    expect(result).toMatchObject({ status_code: 429, error: "http_status", retry_after_seconds: 120 });
  });

  test("503 with Retry-After as a date → the seconds until then", async () => {
    const { result } = await attemptAt(
      (socket) => socket.write(answer("503 Away", "", { "retry-after": "Tue, 03 Feb 2026 04:06:00 GMT" })),
      { now: () => Date.parse("2026-02-03T04:05:30Z") },
    );
    expect(result.retry_after_seconds).toBe(30);
  });
});

describe("time", () => {
  test("never answers → timeout", async () => {
    const { result } = await attemptAt(() => {}, SHORT);
    expect(result).toMatchObject({ status_code: null, error: "timeout", response_excerpt: null });
    expect(result.duration_ms).toBeGreaterThanOrEqual(140);
    expect(result.duration_ms).toBeLessThan(5_000);
  });

  test("the resolver never answers → timeout", async () => {
    const attempt = makeAttempt({ ...SHORT, resolve: () => new Promise(() => {}) });
    expect(await attempt(delivery("http://hooks.test:3000/"))).toMatchObject({ error: "timeout" });
  });

  test("one byte of the head now and then → timeout all the same", async () => {
    const { result } = await attemptAt((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nx-slow: ");
      const timer = setInterval(() => socket.write("y"), 20);
      socket.on("close", () => clearInterval(timer));
    }, SHORT);
    expect(result).toMatchObject({ status_code: null, error: "timeout", response_excerpt: null });
  });

  test("200, then one byte of the body now and then → delivered, with what had come by then", async () => {
    const { result } = await attemptAt((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n");
      const timer = setInterval(() => socket.write("x"), 20);
      socket.on("close", () => clearInterval(timer));
    }, SHORT);
    expect(result).toMatchObject({ status_code: 200, error: null, response_excerpt: expect.stringMatching(/^x+$/) });
    expect(result.duration_ms).toBeLessThan(5_000);
  });

  test("500, then nothing → http_status", async () => {
    const { result } = await attemptAt((socket) => {
      socket.write("HTTP/1.1 500 Oops\r\ncontent-length: 1000\r\n\r\n");
    }, SHORT);
    expect(result).toMatchObject({ status_code: 500, error: "http_status" });
  });
});

describe("the body of an answer", () => {
  test("10 MB → 64 KiB are read, the rest is cut off, and 1 KiB is kept", async () => {
    let closed: (sent: number) => void;
    const written = new Promise<number>((resolve) => {
      closed = resolve;
    });
    const { result } = await attemptAt((socket) => {
      socket.on("close", () => closed(socket.bytesWritten));
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 10000000\r\n\r\n");
      const more = () => {
        while (!socket.destroyed && socket.write("y".repeat(16_384)));
      };
      socket.on("drain", more);
      more();
    });
    expect(result).toMatchObject({ status_code: 200, error: null, response_excerpt: "y".repeat(1024) });
    // Beyond what was read only what the two kernels hold between them.
    expect(await written).toBeLessThan(9_000_000);
  });

  test("without an end → delivered after 64 KiB", async () => {
    const { result } = await attemptAt((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
      const more = () => {
        while (!socket.destroyed && socket.write(`400\r\n${"z".repeat(1024)}\r\n`));
      };
      socket.on("drain", more);
      more();
    });
    expect(result).toMatchObject({ status_code: 200, error: null });
  });

  test("breaks off in a 2xx → delivered", async () => {
    const { result } = await attemptAt((socket) => {
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\npart");
    });
    expect(result).toMatchObject({ status_code: 200, error: null, response_excerpt: "part" });
  });

  test("breaks off in a 500 → http_status", async () => {
    const { result } = await attemptAt((socket) => {
      socket.end("HTTP/1.1 500 Oops\r\ncontent-length: 1000\r\n\r\npart");
    });
    expect(result).toMatchObject({ status_code: 500, error: "http_status", response_excerpt: "part" });
  });

  test("bytes that are no UTF-8, and NUL → text that a row can hold", async () => {
    const { result } = await attemptAt((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n");
      socket.write(Uint8Array.of(0x61, 0, 0xff, 0x62, 0, 0x63));
    });
    expect(result.response_excerpt).toBe("a\ufffdbc");
  });
});

describe("no answer", () => {
  test.each<[string, (socket: Socket) => void]>([
    ["closes at once", (socket) => socket.destroy()],
    ["closes in the middle of the head", (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-le")],
    ["speaks another protocol", (socket) => socket.write("SSH-2.0-OpenSSH_9.9\r\n")],
    ["speaks a protocol like HTTP", (socket) => socket.write("RTSP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n")],
  ])("%s → connection", async (_what, behave) => {
    const { result } = await attemptAt(behave);
    expect(result).toMatchObject({ status_code: null, error: "connection", response_excerpt: null });
  });

  test("a head larger than the parser's limit → too_large", async () => {
    const { result } = await attemptAt((socket) => {
      socket.end(`HTTP/1.1 200 OK\r\nx-much: ${"y".repeat(300_000)}\r\n\r\n`);
    });
    expect(result).toMatchObject({ status_code: null, error: "too_large" });
  });

  test("nobody listens → connection", async () => {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = listener.addr;
    listener.close();
    const result = await makeAttempt()(delivery(`http://hooks.test:${port}/`));
    expect(result).toMatchObject({ status_code: null, error: "connection" });
  });
});

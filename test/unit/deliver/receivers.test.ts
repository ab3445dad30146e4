import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";
import { createCheckedLookup } from "../../../supabase/functions/keyframe-deliver/send/checked-lookup.ts";
import { InterimAnswers } from "../../../supabase/functions/keyframe-deliver/send/connection-stream.ts";
import { createPost, REQUEST_TIMEOUT_MS } from "../../../supabase/functions/keyframe-deliver/send/post.ts";
import { answer, receive } from "../../support/receiver/raw-receiver.ts";
import { delivery, makeAttempt, resolveHere, SECRET } from "./fixture.ts";

async function attemptAt(
  behave: (socket: Socket, request: string) => void,
  settings: Parameters<typeof makeAttempt>[0] = {},
) {
  const receiver = await receive(behave);
  const result = await makeAttempt(settings)(delivery(`http://hooks.test:${receiver.port}/in?a=1`));
  return { result, receiver };
}

/** Writes the first piece, then the last one now and then, until the connection is closed. */
const drip = (socket: Socket, first: string, piece = first) => {
  socket.write(first);
  const timer = setInterval(() => socket.write(piece), 20);
  socket.on("close", () => clearInterval(timer));
};

/** Writes the piece for as long as the connection is open, then tells how many bytes went out. */
const flood = (socket: Socket, piece: string, tell: (bytes: number) => void) => {
  const more = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on("close", () => tell(socket.bytesWritten));
  socket.on("drain", more);
  more();
};

const AT = Date.parse("2026-02-03T04:05:06.789Z");

test("200, while the clock is set → the result with its duration; the request → exactly as documented, and nothing else", async () => {
  const [dates, times] = [
    [AT, AT - 600_000],
    [1_000, 1_340],
  ];
  const { result, receiver } = await attemptAt((socket) => socket.write(answer("200 OK", "thanks")), {
    now: () => dates.shift() ?? 0,
    elapsed: () => times.shift() ?? 0,
  });
  const { id, endpoint_id, event_id, body } = delivery("");
  expect(result).toEqual({
    ...{ id, work_id: 1, attempt: 1, endpoint_id, started_at: new Date(AT).toISOString(), duration_ms: 340 },
    ...{ status_code: 200, error: null, response_excerpt: "thanks", retry_after_seconds: null },
  });
  const [head = "", sent] = (receiver.requests[0] ?? "").split("\r\n\r\n");
  const [line, ...headers] = head.split("\r\n");
  expect([line, sent]).toEqual(["POST /in?a=1 HTTP/1.1", body]);
  expect(Object.fromEntries(headers.map((header) => header.toLowerCase().split(": ")))).toEqual({
    host: `hooks.test:${receiver.port}`,
    connection: "keep-alive",
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    "user-agent": "keyframe-webhooks/1",
    "webhook-id": event_id,
    "webhook-timestamp": "1770091506",
    "webhook-signature": expect.stringMatching(/^v1,[a-z0-9+/]{43}=$/),
  });
});

test("an endpoint with two secrets during a rotation → both sign as Standard Webhooks says, the newest first", async () => {
  const secrets = [SECRET, `whsec_${btoa("b".repeat(32))}`];
  const receiver = await receive((socket) => socket.write(answer("200 OK")));
  const given = delivery(`http://hooks.test:${receiver.port}/`, { secrets });
  await makeAttempt({ now: () => AT })(given);
  const expected = secrets.map((secret) => new Webhook(secret).sign(given.event_id, new Date(AT), given.body));
  expect(receiver.requests[0]).toContain(`webhook-signature: ${expected.join(" ")}\r\n`);
});

test.each([
  ["no secret", []],
  ["an empty secret", ["whsec_"]],
  ["a secret with a line's end", [`${SECRET}\n`]],
  ["a secret of another kind", [SECRET.replace("whsec_", "whsk_")]],
  ["a secret beside one that cannot be read", [SECRET, "whsec_ä"]],
])("an endpoint that has %s → a failed attempt and a log line, and no connection", async (_what, secrets) => {
  const receiver = await receive((socket) => socket.write(answer("200 OK")));
  const lines: string[] = [];
  const given = delivery(`http://hooks.test:${receiver.port}/`, { secrets });
  expect(await makeAttempt({ lines })(given)).toMatchObject({ status_code: null, error: "not_signed" });
  const { id: deliveryId, endpoint_id: endpointId } = given;
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: "error", event: "delivery_not_signed", deliveryId, endpointId },
  ]);
  expect(receiver.connections()).toBe(0);
});

test("an address that the client refuses → a failed attempt, not a rejection", async () => {
  const post = createPost({ lookup: createCheckedLookup(resolveHere, { allowLocal: true }) });
  const posted = await post(new URL("ftp://hooks.test/"), {}, "{}");
  expect(posted).toEqual({ statusCode: null, error: "connection", excerpt: null, retryAfter: undefined });
});

describe("an answer's status", () => {
  test.each<[string, string | null]>([
    ["299 Fine", null],
    ["300 Multiple Choices", "redirect"],
    ["304 Not Modified", "redirect"],
    ["400 Bad Request", "http_status"],
    ["410 Gone", "http_status"],
    ["503 Service Unavailable", "http_status"],
  ])("an answer of %s → %s", async (status, error) => {
    const { result } = await attemptAt((socket) => socket.write(answer(status)));
    expect(result).toMatchObject({ status_code: Number(status.slice(0, 3)), error });
  });

  test.each([
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

  test("100 and 200 in one answer, split at every byte → only the 200 is left", () => {
    const final = answer("200 OK", "ok");
    const whole = Buffer.from(`HTTP/1.1 100 Continue\r\nx: \r\r\n\r\n${final}`);
    const answers = new InterimAnswers();
    for (let cut = 1; cut < whole.length; cut++) {
      answers.expect();
      const left = [whole.subarray(0, cut), whole.subarray(cut)].map((bytes) => answers.remove(bytes));
      expect(Buffer.concat(left).toString(), `cut at ${cut}`).toBe(final);
    }
  });

  test.each([
    ["100", "HTTP/1.1 100 Continue\r\n\r\n"],
    ["103", "HTTP/1.1 103 Early Hints\r\n\r\n"],
    ["empty lines", "\r\n"],
  ])("an answer of %s without an end → too_large after 16 KiB", async (_what, words) => {
    const closed = Promise.withResolvers<number>();
    const { result } = await attemptAt((socket) => flood(socket, words.repeat(500), closed.resolve));
    expect(result).toMatchObject({ status_code: null, error: "too_large", response_excerpt: null });
    // Beyond what was read only what the two kernels hold between them.
    expect(await closed.promise).toBeLessThan(9_000_000);
  });
});

describe("the body of an answer", () => {
  test.each<[string, (signature: string, request: string) => string]>([
    ["as it is", (signature) => `You sent ${signature}.`],
    ["the whole request in JSON", (_, request) => JSON.stringify(request)],
    ["URL-encoded", encodeURIComponent],
    ["a character on each line", (signature) => [...signature].join("\n")],
    ["the first 20 characters at the end of what is kept", (signature) => "y ".repeat(502) + signature.slice(0, 20)],
  ])("our signature, %s → a note is stored instead", async (_what, echo) => {
    const { result } = await attemptAt((socket, request) => {
      const [, signature = ""] = /webhook-signature: (.*)\r\n/i.exec(request) ?? [];
      socket.write(answer("200 OK", echo(signature, request)));
    });
    expect(result.response_excerpt).toBe("Not kept: the answer repeats the signature of the request.");
  });

  test.each([
    ["of 10 MB", "content-length: 10000000", "y".repeat(16_384)],
    ["without an end", "transfer-encoding: chunked", `400\r\n${"y".repeat(1024)}\r\n`],
  ])("an answer's body %s → 64 KiB are read, the rest is cut off, and 1 KiB is kept", async (_what, header, piece) => {
    const written = Promise.withResolvers<number>();
    const { result } = await attemptAt((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${header}\r\n\r\n`);
      flood(socket, piece, written.resolve);
    });
    expect(result).toMatchObject({ status_code: 200, error: null, response_excerpt: "y".repeat(1024) });
    // Beyond what was read only what the two kernels hold between them.
    expect(await written.promise).toBeLessThan(9_000_000);
  });

  test.each<[string, string, (socket: Socket) => void, object]>([
    ["breaks off", "200 OK", (socket) => socket.end("part"), { status_code: 200, error: null }],
    ["never ends", "500 Oops", (socket) => void socket.write("part"), { status_code: 500, error: "http_status" }],
  ])(
    "a receiver that %s after %s → the status counts, with what had arrived by then",
    async (_what, status, send, expected) => {
      const { result } = await attemptAt(
        (socket) => {
          socket.write(`HTTP/1.1 ${status}\r\ncontent-length: 1000\r\n\r\n`);
          send(socket);
        },
        { timeoutMs: 1_000 },
      );
      expect(result).toMatchObject({ ...expected, response_excerpt: "part" });
    },
  );
});

const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";
const SWITCHING = "HTTP/1.1 101 Switching Protocols\r\n";

describe("a receiver without a valid answer", () => {
  test.each<[string, (socket: Socket) => void, error: string]>([
    ["closes at once", (socket) => socket.destroy(), "connection"],
    ["closes in the middle of the head", (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-le"), "connection"],
    ["speaks another protocol", (socket) => socket.write("SSH-2.0-OpenSSH_9.9\r\n"), "connection"],
    ["switches", (socket) => socket.write(`${SWITCHING}upgrade: other\r\nconnection: upgrade\r\n\r\n`), "connection"],
    ["sends much", (socket) => socket.end(`HTTP/1.1 200 OK\r\nx: ${"y".repeat(300_000)}\r\n\r\n`), "too_large"],
    ["sends much with 100", (socket) => socket.write(`HTTP/1.1 100 Continue\r\nx: ${"y".repeat(70_000)}`), "too_large"],
    ["waits", () => {}, "timeout"],
    ["sends 100 now and then", (socket) => drip(socket, CONTINUE), "timeout"],
    ["sends a byte of its head now and then", (socket) => drip(socket, "HTTP/1.1 200 OK\r\nx-slow: ", "y"), "timeout"],
  ])("a receiver that %s → no status, and an error that says why", async (_what, behave, error) => {
    const limits = error === "timeout" ? { timeoutMs: 150 } : {};
    const { result } = await attemptAt((socket) => void behave(socket), limits);
    expect(result).toMatchObject({ status_code: null, error, response_excerpt: null });
  });

  test("docs/receive-webhooks.md → has the seconds within which a receiver must answer", async () => {
    const page = await Deno.readTextFile("docs/receive-webhooks.md");
    expect(page).toContain(`| 2xx within ${REQUEST_TIMEOUT_MS / 1000} seconds | delivered.`);
  });

  test("a receiver that does not listen → connection", async () => {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = listener.addr;
    listener.close();
    const result = await makeAttempt()(delivery(`http://hooks.test:${port}/`));
    expect(result).toMatchObject({ status_code: null, error: "connection" });
  });
});

import { describe, expect, test } from "vitest";
import { type BodyLimits, createBodyReader, decodeBody } from "../../../shared/http/read-body.ts";
import { settle, standingClock } from "./body-clock.ts";

const KIB = 1024;
const LIMITS: BodyLimits = { maxBytes: 100, maxMs: 30_000 };
const bytesOf = (text: string) => new TextEncoder().encode(text);

function start(maxTotalBytes = 1024 * KIB, maxSlow = Number.POSITIVE_INFINITY) {
  const clock = standingClock();
  return { clock, read: createBodyReader({ clock, maxTotalBytes, maxSlow }) };
}

/** A body that comes in pieces, of which it counts those that were taken. */
function inPieces(pieces: Uint8Array[]) {
  const seen = { taken: 0 };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const piece = pieces[seen.taken];
        if (piece === undefined) return controller.close();
        seen.taken += 1;
        controller.enqueue(piece);
      },
    },
    { highWaterMark: 0 },
  );
  return { seen, body };
}

/** A body whose sender decides when what comes. */
function slowly() {
  let sender!: ReadableStreamDefaultController<Uint8Array>;
  const seen = { isCanceled: false };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      sender = controller;
    },
    cancel() {
      seen.isCanceled = true;
    },
  });
  return { body, seen, send: (bytes: Uint8Array) => sender.enqueue(bytes), end: () => sender.close() };
}

const post = (body: BodyInit | null, headers: Record<string, string> = {}) =>
  new Request("http://here.test/", { method: "POST", body, headers, duplex: "half" } as RequestInit);

/** What came of it: the bytes' number, the error's code, or "open" while it is read. */
function follow(read: Promise<Uint8Array>) {
  const outcome: { is: string | number; error?: { code: string; message: string; extra: { headers?: object } } } = {
    is: "open",
  };
  read.then(
    (bytes) => {
      outcome.is = bytes.byteLength;
    },
    (error) => {
      outcome.is = error.code;
      outcome.error = error;
    },
  );
  return outcome;
}

describe("reading a body", () => {
  test.each<[string, Uint8Array]>([
    ["letters beyond ASCII", bytesOf('{"a":"äöü 😀"}')],
    ["a byte order mark, which is signed like the rest", new Uint8Array([0xef, 0xbb, 0xbf, 0x31])],
    ["nothing", new Uint8Array(0)],
  ])("%s, with a Content-Length or without, in one piece or byte by byte → the same text", async (_name, bytes) => {
    const { read } = start();
    const text = async (request: Request) => decodeBody(await read(request, LIMITS));
    const expected = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    const told = { "content-length": String(bytes.byteLength) };
    const bytewise = () => inPieces([...bytes].map((byte) => Uint8Array.of(byte))).body;
    expect(await text(post(new Uint8Array(bytes), told))).toBe(expected);
    expect(await text(post(bytewise(), told))).toBe(expected);
    expect(await text(post(bytewise()))).toBe(expected);
    expect(await text(post(bytewise(), { "content-length": "a few" }))).toBe(expected);
  });

  test("a body that is not UTF-8 → invalid_request", () => {
    const half = bytesOf("ö").subarray(0, 1);
    expect(() => decodeBody(half)).toThrow(expect.objectContaining({ code: "invalid_request" }));
  });

  test("a body whose connection breaks → invalid_request", async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error("gone")) });
    await expect(start().read(post(body), LIMITS)).rejects.toMatchObject({ code: "invalid_request" });
  });
});

// Bodies that are too large, or stop: test/api/bad-input.test.ts and test/security/unfinished-bodies.test.ts.
describe("the time limit of a body", () => {
  test("a body with some bytes every 9 s → goes on, and request_timeout when the whole takes too long", async () => {
    const { clock, read } = start();
    const { body, send } = slowly();
    const outcome = follow(read(post(body), LIMITS));
    for (let time = 0; time < 3; time++) {
      await clock.pass(9);
      expect(outcome.is).toBe("open");
      send(Uint8Array.of(1));
      await settle();
    }
    await clock.pass(4);
    expect(outcome.is).toBe("request_timeout");
    expect(outcome.error?.message).toMatch(/longer than 30 s/);
  });

  test("two slow bodies → each has its own time limit; the one that ends in time is read", async () => {
    const { clock, read } = start();
    const [first, second] = [slowly(), slowly()];
    const outcomes = [follow(read(post(first.body), LIMITS))];
    await clock.pass(6);
    outcomes.push(follow(read(post(second.body), LIMITS)));
    await clock.pass(5);
    second.send(bytesOf("done"));
    second.end();
    await settle();
    expect(outcomes.map(({ is }) => is)).toEqual(["request_timeout", 4]);
  });

  test("no open body → no timer runs; a thousand bodies at once → one timer at most", async () => {
    const { clock, read } = start();
    for (let time = 0; time < 1000; time++) await read(post("1234"), LIMITS);
    expect(clock.waiting()).toBe(1);
    await clock.pass(2);
    expect(clock.waiting()).toBe(0);
  });
});

describe("the memory of all open bodies", () => {
  const roomFor = (bodies: number) => bodies * 64 * KIB;

  test("more open bodies than fit in memory → the one stalled longest gets unavailable with Retry-After, not the new one", async () => {
    const { clock, read } = start(roomFor(3));
    const bodies = [slowly(), slowly(), slowly(), slowly()];
    const outcomes = [];
    for (const { body } of bodies.slice(0, 3)) {
      outcomes.push(follow(read(post(body), LIMITS)));
      await clock.pass(1);
    }
    outcomes.push(follow(read(post(bodies[3]?.body ?? null), LIMITS)));
    await settle();
    expect(outcomes.map(({ is }) => is)).toEqual(["unavailable", "open", "open", "open"]);
    expect(outcomes[0]?.error?.extra.headers).toEqual({ "Retry-After": expect.stringMatching(/^[2-5]$/) });
  });

  test("a body that goes on while others stall → not the one that is ended", async () => {
    const { clock, read } = start(roomFor(3));
    const [going, stalling] = [slowly(), slowly()];
    const first = follow(read(post(going.body), LIMITS));
    await clock.pass(1);
    const second = follow(read(post(stalling.body), LIMITS));
    await clock.pass(1);
    going.send(Uint8Array.of(1));
    await settle();
    const third = follow(read(post(slowly().body), LIMITS));
    await settle();
    expect([first, second, third].map(({ is }) => is)).toEqual(["open", "unavailable", "open"]);
  });

  test("memory for open bodies → counts the bytes that have arrived, not those announced", async () => {
    const { read } = start(roomFor(3));
    const limits = { maxBytes: roomFor(2), maxMs: 30_000 };
    const announced = slowly();
    const first = follow(read(post(announced.body, { "content-length": String(limits.maxBytes) }), limits));
    const second = follow(read(post(slowly().body), limits));
    await settle();
    expect([first.is, second.is]).toEqual(["open", "open"]);
    announced.send(new Uint8Array(limits.maxBytes - 1));
    await settle();
    expect([first.is, second.is]).toEqual(["open", "unavailable"]);
  });

  test("a body that was read or has failed → frees its memory", async () => {
    const { read } = start(roomFor(3));
    const open = follow(read(post(slowly().body), LIMITS));
    for (let time = 0; time < 5; time++) {
      await read(post("1"), LIMITS);
      await expect(read(post(inPieces([new Uint8Array(101)]).body), LIMITS)).rejects.toMatchObject({
        code: "payload_too_large",
      });
    }
    expect(open.is).toBe("open");
  });

  test("bytes that arrive one by one in buffers of 64 KiB → only the bytes are kept", async () => {
    const { read } = start(roomFor(4));
    const body = inPieces(Array.from({ length: 2000 }, () => new Uint8Array(64 * KIB).subarray(0, 1))).body;
    const bytes = await read(post(body), { maxBytes: 64 * KIB, maxMs: 30_000 });
    expect([bytes.byteLength, bytes.buffer.byteLength < 64 * KIB]).toEqual([2000, true]);
  });
});

describe("permits for large bodies", () => {
  const LARGE = { maxBytes: 1024 * KIB, maxMs: 30_000 };
  /** Announced as larger than one read takes, and stalled from the beginning. */
  const large = () => slowly();
  const announced = { "content-length": String(500 * KIB) };

  test("a large body without a free permit, while no body stalls → waits unread for half a second, then unavailable", async () => {
    const { clock, read } = start(1024 * KIB, 1);
    const first = follow(read(post(large().body, announced), LARGE));
    const { seen, body } = inPieces([new Uint8Array(500 * KIB)]);
    const second = follow(read(post(body, announced), LARGE));
    await clock.pass(0.4);
    expect({ first, second, ...seen }).toMatchObject({ first: { is: "open" }, second: { is: "open" }, taken: 0 });
    await clock.pass(0.2);
    expect({ first, second, ...seen }).toMatchObject({
      first: { is: "open" },
      second: { is: "unavailable" },
      taken: 0,
    });
  });

  test("a permit that becomes free in time → goes to the body that waits", async () => {
    const { read } = start(2048 * KIB, 1);
    const { body, send, end } = large();
    const first = follow(read(post(body), LARGE));
    send(new Uint8Array(10));
    await settle();
    const second = follow(read(post(inPieces([new Uint8Array(500 * KIB)]).body, announced), LARGE));
    await settle();
    expect(second.is).toBe("open");
    end();
    await settle();
    expect([first.is, second.is]).toEqual([10, 500 * KIB]);
  });

  test("a permit becomes free for a waiting body that was refused → goes at once to the next one that waits", async () => {
    const { read } = start(3 * 64 * KIB, 1);
    const { body, send, end } = large();
    const first = follow(read(post(body), LARGE));
    send(new Uint8Array(10));
    await settle();
    const second = follow(read(post(large().body, announced), LARGE));
    send(new Uint8Array(1)); // so that the second has stalled the longest
    await settle();
    const third = follow(read(post(inPieces([new Uint8Array(500 * KIB)]).body, announced), LARGE));
    await settle();
    end();
    await settle();
    expect([first.is, second.is, third.is]).toEqual([11, "unavailable", 500 * KIB]);
  });

  test("a body comes while another waits, and the one with the permit has stalled → the one that waits gets it first", async () => {
    const { clock, read } = start(1024 * KIB, 1);
    const stalled = follow(read(post(large().body, announced), LARGE));
    await clock.pass(0.1);
    const pieces = () => inPieces([new Uint8Array(300 * KIB), new Uint8Array(200 * KIB)]).body;
    const waiting = follow(read(post(pieces(), announced), LARGE));
    await clock.pass(0.45);
    const newcomer = follow(read(post(pieces(), announced), LARGE));
    await settle();
    expect([stalled.is, waiting.is, newcomer.is]).toEqual(["unavailable", 500 * KIB, 500 * KIB]);
  });

  test("every permit is held by a body that stalled for half a second → the next body gets the permit of the oldest", async () => {
    const { clock, read } = start(1024 * KIB, 2);
    const stalled = [follow(read(post(large().body, announced), LARGE))];
    await clock.pass(0.3);
    stalled.push(follow(read(post(large().body, announced), LARGE)));
    await clock.pass(0.3);
    const { body } = inPieces([new Uint8Array(300 * KIB), new Uint8Array(200 * KIB)]);
    expect(await read(post(body, announced), LARGE)).toHaveLength(500 * KIB);
    expect(stalled.map(({ is }) => is)).toEqual(["unavailable", "open"]);
  });

  test("all permits are taken → a body that arrives at once with its Content-Length needs none", async () => {
    const { read } = start(1024 * KIB, 1);
    follow(read(post(large().body, announced), LARGE));
    expect(await read(post("a callback", { "content-length": "10" }), LIMITS)).toHaveLength(10);
  });
});

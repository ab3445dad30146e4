import { expect, test } from "vitest";
import { createUploadTurns } from "../../../shared/api/http/upload-turns.ts";
import { settle, standingClock } from "./body-clock.ts";

const MIB = 1024 * 1024;

function start() {
  const clock = standingClock();
  const take = createUploadTurns(clock);
  const begun: string[] = [];
  /** An upload of `owner` that lasts until `end` is called. */
  const upload = (owner: string, bytes = MIB) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const outcome: { is: string; headers?: unknown } = { is: "open" };
    take(owner, bytes, () => {
      begun.push(owner);
      return promise;
    }).then(
      () => {
        outcome.is = "done";
      },
      (error) => {
        outcome.is = error.code;
        outcome.headers = error.extra.headers;
      },
    );
    return {
      outcome,
      end: async () => {
        resolve();
        await settle();
      },
    };
  };
  return { clock, take, begun, upload };
}

test("two uploads of one account → the second begins when the first has ended", async () => {
  const { begun, upload } = start();
  const [first] = [upload("a"), upload("a")];
  await settle();
  expect(begun).toEqual(["a"]);
  await first.end();
  expect(begun).toEqual(["a", "a"]);
});

test("waiting uploads of one account → do not delay another account's", async () => {
  const { begun, upload } = start();
  for (let time = 0; time < 10; time++) upload("a");
  upload("b");
  await settle();
  expect(begun).toEqual(["a", "b"]);
});

test("a large upload waits for space within 40 MiB → a small one that would fit waits behind it", async () => {
  const { begun, upload } = start();
  const [large, small] = [upload("a", 30 * MIB), upload("b", 5 * MIB)];
  upload("c", 10 * MIB);
  upload("d", MIB);
  await settle();
  expect(begun).toEqual(["a", "b"]);
  await small.end();
  expect(begun).toEqual(["a", "b", "c"]);
  await large.end();
  expect(begun).toEqual(["a", "b", "c", "d"]);
});

test("an upload that fails → frees its turn", async () => {
  const { take, begun, upload } = start();
  for (let time = 0; time < 5; time++) {
    const failed = take("a", 40 * MIB, () => Promise.reject(new Error("no image")));
    await expect(failed).rejects.toThrow("no image");
  }
  upload("a", 40 * MIB);
  await settle();
  expect(begun).toEqual(["a"]);
});

test("an upload without a turn for 20 s → unavailable with Retry-After, and it never begins", async () => {
  const { clock, begun, upload } = start();
  const [first, second] = [upload("a"), upload("a")];
  await clock.pass(19);
  expect(second.outcome.is).toBe("open");
  await clock.pass(2);
  expect(second.outcome).toEqual({ is: "unavailable", headers: { "Retry-After": "5" } });
  await first.end();
  expect([begun, first.outcome.is]).toEqual([["a"], "done"]);
});

test("a large upload gives up after 20 s → the small ones behind it that fit begin", async () => {
  const { clock, begun, upload } = start();
  upload("a", 30 * MIB);
  const large = upload("b", 20 * MIB);
  await clock.pass(10);
  upload("c", 10 * MIB);
  await clock.pass(9);
  expect(begun).toEqual(["a"]);
  await clock.pass(2);
  expect(large.outcome.is).toBe("unavailable");
  expect(begun).toEqual(["a", "c"]);
});

test("more than 64 uploads of an account wait → rate_limited with Retry-After at once; other accounts' are accepted", async () => {
  const { upload } = start();
  for (let time = 0; time < 65; time++) upload("a");
  const [oneMore, others] = [upload("a"), upload("b")];
  await settle();
  expect(oneMore.outcome).toEqual({ is: "rate_limited", headers: { "Retry-After": "5" } });
  expect(others.outcome.is).toBe("open");
});

test("an upload stalls → it is ended after 10 s, or after 2 s while another upload waits", async () => {
  const stalled = () =>
    new Request("http://here.test/", {
      method: "POST",
      body: new ReadableStream(),
      duplex: "half",
    } as RequestInit);
  for (const [waiting, seconds] of [
    [0, 10],
    [1, 2],
  ] as const) {
    const { clock, take, upload } = start();
    let is = "open";
    take("a", 40 * MIB, (read) => read(stalled(), { maxBytes: 40 * MIB, maxMs: 100_000 })).catch(({ code }) => {
      is = code;
    });
    for (let time = 0; time < waiting; time++) upload("b");
    await settle();
    await clock.pass(seconds - 1);
    expect(is).toBe("open");
    await clock.pass(2);
    expect(is).toBe("request_timeout");
  }
});

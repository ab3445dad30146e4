import { describe, expect, test } from "vitest";
import {
  type CallDatabase,
  createCallDatabase,
  DatabaseError,
  retryTransientErrors,
} from "../../../shared/platform/call-database.ts";
import { describeError } from "../../../shared/platform/log.ts";

type Sent = { url: string; headers: Headers; body: string; isBlob: boolean };

function callAgainst(answer: () => Response | Promise<Response>, timeoutMs?: number) {
  const sent: Sent[] = [];
  const platform: typeof fetch = async (input, init) => {
    const body = await new Response(init?.body).text();
    sent.push({ url: String(input), headers: new Headers(init?.headers), body, isBlob: init?.body instanceof Blob });
    const signal = init?.signal;
    return await Promise.race([
      answer(),
      new Promise<never>((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
    ]);
  };
  return { call: createCallDatabase("https://p.example", "sb_secret_x", platform, timeoutMs), sent };
}

test("a database call → POST of its arguments to the function's path, with the secret key in both headers", async () => {
  const { call, sent } = callAgainst(() => Response.json([{ id: 1 }]));
  expect(await call("claim_tasks", { max_rows: 2, left_out: undefined })).toEqual([{ id: 1 }]);
  expect(sent).toHaveLength(1);
  expect(sent[0]?.url).toBe("https://p.example/rest/v1/rpc/claim_tasks");
  expect(sent[0]?.body).toBe('{"max_rows":2}');
  expect(sent[0]?.isBlob).toBe(true); // it cannot be sent a second time on another connection
  expect(Object.fromEntries(sent[0]?.headers ?? [])).toEqual({
    apikey: "sb_secret_x",
    authorization: "Bearer sb_secret_x",
    "content-profile": "keyframe_worker",
    "content-type": "application/json",
  });
});

test.each([
  ["a refusal with a code", Response.json({ code: "40P01", message: "row (secret)" }, { status: 500 }), 500, "40P01"],
  ["a refusal without a code", Response.json({ message: "row (secret)" }, { status: 401 }), 401, ""],
  ["a page of the gateway", new Response("<html>secret</html>", { status: 502 }), 502, ""],
  ["a page that says that all is well", new Response("<html>secret</html>"), 200, ""],
])("%s → DatabaseError with status and code, without the message", async (_, answer, status, code) => {
  const { call } = callAgainst(() => answer);
  const error = await call("claim_tasks", {}).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(DatabaseError);
  expect(error).toMatchObject({ called: "claim_tasks", status, code });
  expect(String(error)).not.toContain("secret");
});

const broken = () => new Response(new ReadableStream({ start: (controller) => controller.error(new Error("reset")) }));
test.each<[string, () => Response | Promise<Response>, string, number?]>([
  ["no connection", () => Promise.reject(new TypeError("connection refused")), "connection refused"],
  [
    "an unknown host",
    () => Promise.reject(new TypeError("fetch failed", { cause: new Error("no such host at https://p.example") })),
    "because of Error: no such host at [address]",
  ],
  ["no answer in time", () => new Promise<Response>(() => undefined), "TimeoutError", 1],
  ["an answer that stops in the middle", broken, "reset"],
])("a database call with %s → DatabaseError with status 0 and the reason", async (_what, answer, why, timeoutMs) => {
  const { call } = callAgainst(answer, timeoutMs);
  const error = await call("claim_tasks", {}).catch((cause: unknown) => cause);
  expect(error).toMatchObject({ status: 0, code: "" });
  expect(describeError(error)).toContain(why);
});

describe("a call while the Data API restarts", () => {
  test.each<[string, number | null, string]>([
    ["the gateway's 502", 502, ""],
    ["503 of PostgREST", 503, "PGRST001"],
    ["504 of its pool", 504, "PGRST003"],
    ["no connection", 0, ""],
    ["a pooled connection whose backend crashed", 400, ""],
    ["a connection to Postgres that ended", null, "57P01"],
    ["one that was refused", null, ""],
  ])("during a restart, %s → repeated for as long as a restart takes, then its error", async (_what, status, code) => {
    const away = new DatabaseError("complete_prediction", status, code);
    let passedMs = 0;
    let backAtMs = 5_000;
    const call: CallDatabase = async () => {
      if (passedMs < backAtMs) throw away;
      return true;
    };
    const wait = async (ms: number) => {
      passedMs += ms;
    };
    const repeated = retryTransientErrors(call, 1, wait)(new AbortController().signal);
    expect(await repeated("complete_prediction", {})).toBe(true);
    expect(passedMs).toBeLessThan(8_000);
    [passedMs, backAtMs] = [0, Number.POSITIVE_INFINITY];
    await expect(repeated("complete_prediction", {})).rejects.toBe(away);
    expect(passedMs).toBeLessThan(8_000);
  });

  // A worker that was frozen records its results when the time of its work is over, on connections that are dead.
  test.each([1, 2])(
    "a task's time is over before a call, and the first %i tries have no connection → tried twice",
    async (times) => {
      let calls = 0;
      const call: CallDatabase = async (called) => {
        calls += 1;
        if (calls <= times) throw new DatabaseError(called, 0, "");
        return "later";
      };
      const answer = retryTransientErrors(call, 1)(AbortSignal.abort())("retry_prediction_later", {});
      await (times === 1 ? expect(answer).resolves.toBe("later") : expect(answer).rejects.toMatchObject({ status: 0 }));
      expect(calls).toBe(2);
    },
  );

  test.each([
    ["a wrong key", 401, ""],
    ["a fault of the function", 500, "XX000"],
    ["a function that is missing", 404, "PGRST202"],
    ["a value that a check refuses", 400, "23514"],
  ])("%s → not repeated", async (_what, status, code) => {
    let calls = 0;
    const call: CallDatabase = async (called) => {
      calls += 1;
      throw new DatabaseError(called, status, code);
    };
    await expect(retryTransientErrors(call, 1)(new AbortController().signal)("fail_prediction", {})).rejects.toThrow();
    expect(calls).toBe(1);
  });
});

describe("a call that conflicts with another transaction", () => {
  const conflict = (code: string) => new DatabaseError("complete_prediction", 500, code);
  function refusing(code: string, times: number) {
    const tries: string[] = [];
    const call: CallDatabase = async (called) => {
      tries.push(called);
      if (tries.length <= times) throw conflict(code);
      return true;
    };
    return { call, tries };
  }
  const never = new AbortController().signal;

  test.each(["55P03", "40001", "40P01"])(
    "a conflicting call with %s → repeated with growing pauses until it is answered",
    async (code) => {
      const { call, tries } = refusing(code, 7);
      const pauses: number[] = [];
      const wait = async (ms: number) => void pauses.push(ms);
      expect(await retryTransientErrors(call, 1, wait)(never)("complete_prediction", {})).toBe(true);
      expect(tries).toHaveLength(8);
      expect(pauses).toEqual([250, 500, 1000, 2000, 4000, 4000, 4000]);
    },
  );

  test("a task's time ends while its call meets a lock → tried once more, then the error", async () => {
    const { call, tries } = refusing("55P03", 10);
    const task = new AbortController();
    const wait = async () => task.abort();
    await expect(retryTransientErrors(call, 1, wait)(task.signal)("fail_prediction", {})).rejects.toMatchObject({
      code: "55P03",
    });
    expect(tries).toHaveLength(2);
  });

  test("a limited number of calls wait long for a lock → a further one is tried for four seconds; later ones wait long again", async () => {
    const { call, tries } = refusing("55P03", 15);
    const { promise, resolve } = Promise.withResolvers<void>();
    let pauses = 0;
    const wait = (ms: number) => {
      pauses += ms;
      return ms === 4_000 ? promise : Promise.resolve();
    };
    const until = retryTransientErrors(call, 1, wait);
    const first = until(never)("complete_prediction", {});
    await expect(until(never)("complete_prediction", {})).rejects.toMatchObject({ code: "55P03" });
    expect([tries.length, pauses]).toEqual([10, 2 * 3_750 + 4_000]);
    resolve();
    expect(await first).toBe(true);
    expect(await until(never)("complete_prediction", {})).toBe(true);
  });
});

import { expect, test } from "vitest";
import { answerBase, answerHeaders } from "../../supabase/functions/api/http/answer-headers.ts";
import { rate } from "./api-fixture.ts";

test("RateLimit has what remains and when it is full again, never below nothing", () => {
  expect(answerHeaders({ rate: { ...rate, remaining: -3, reset_seconds: -1 } })).toEqual({
    "RateLimit-Policy": '"generate";q=60;w=60',
    RateLimit: '"generate";r=0;t=0',
  });
});

test("no limit, and no replay → no headers", () => {
  expect(answerHeaders({ rate: null })).toEqual({});
  expect(answerHeaders({ rate: null, replayed: false })).toEqual({});
});

test("a replay → Idempotency-Replayed beside the rest", () => {
  expect(answerHeaders({ rate: null, replayed: true })).toEqual({ "Idempotency-Replayed": "true" });
});

test.each(["", 'a"', "a;b", "a b", "a\r\nb", "Ä", "A"])(
  "a class called %j → refused: it stands in a header",
  (policy) => {
    expect(answerBase.safeParse({ rate: { ...rate, policy } }).success).toBe(false);
  },
);

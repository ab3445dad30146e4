import { Buffer } from "node:buffer";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Chunk, joinChunks } from "../../supabase/functions/keyframe-deliver/send/connection-stream.ts";

test("a head and a body → one piece", () => {
  const head: Chunk = { chunk: "POST / HTTP/1.1\r\n\r\n", encoding: "latin1" };
  const body: Chunk = { chunk: Buffer.from('{"a":"ä"}'), encoding: "utf8" };
  expect(Buffer.from(joinChunks([head, body])).toString()).toBe('POST / HTTP/1.1\r\n\r\n{"a":"ä"}');
});

test("text and bytes in any order and any letters → the bytes that each stands for, one after the other", () => {
  const encoding = fc.constantFrom("latin1" as const, "utf8" as const, "hex" as const);
  const letters = fc.string({ unit: fc.constantFrom("a", "0", "f", "\r", "é", "ÿ", "\u20ac", "😀") });
  const chunk = fc.oneof(letters, fc.uint8Array({ maxLength: 20 }));
  fc.assert(
    fc.property(fc.array(fc.record({ chunk, encoding }), { maxLength: 5 }), (chunks) => {
      const each = chunks.map(({ chunk, encoding }) =>
        typeof chunk === "string" ? Buffer.from(chunk, encoding) : Buffer.from(chunk),
      );
      expect(Buffer.from(joinChunks(chunks)).toString("hex")).toBe(Buffer.concat(each).toString("hex"));
    }),
    { numRuns: 500 },
  );
});

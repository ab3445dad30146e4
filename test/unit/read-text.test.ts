import { expect, test } from "vitest";
import { readText } from "../../shared/provider/read-text.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

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

const post = (body: BodyInit, headers: Record<string, string> = {}) =>
  new Request("http://here.test/", { method: "POST", body, headers, duplex: "half" } as RequestInit);

const half = bytesOf("ö").subarray(0, 1);
const texts: [string, Uint8Array][] = [
  ["letters beyond ASCII", bytesOf('{"a":"äöü 😀"}')],
  ["a byte order mark, which is signed like the rest", new Uint8Array([0xef, 0xbb, 0xbf, 0x31])],
  ["nothing", new Uint8Array(0)],
];

test.each(texts)("%s, the length told or not, in one piece or byte by byte → the same text", async (_name, bytes) => {
  const expected = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  const told = { "content-length": String(bytes.byteLength) };
  const bytewise = () => inPieces([...bytes].map((byte) => Uint8Array.of(byte))).body;
  expect(await readText(post(new Uint8Array(bytes), told), 100)).toBe(expected);
  expect(await readText(post(bytewise(), told), 100)).toBe(expected);
  expect(await readText(post(bytewise()), 100)).toBe(expected);
  expect(await readText(post(bytewise(), { "content-length": "a few" }), 100)).toBe(expected);
});

test.each([
  ["told", { "content-length": "1" }],
  ["not told", {}],
])("no UTF-8, the length %s → invalid_request", async (_name, headers) => {
  await expect(readText(post(inPieces([half]).body, headers), 100)).rejects.toMatchObject({ code: "invalid_request" });
});

test("more than is allowed, and told → refused before anything is read", async () => {
  const { seen, body } = inPieces([bytesOf("1234"), bytesOf("5678")]);
  const refused = readText(post(body, { "content-length": "8" }), 7);
  await expect(refused).rejects.toMatchObject({ code: "payload_too_large" });
  expect(seen.taken).toBe(0);
});

test("more than is allowed, and not told → refused at the piece that is too much", async () => {
  const { seen, body } = inPieces(["1234", "5678", "9"].map(bytesOf));
  await expect(readText(post(body), 7)).rejects.toMatchObject({ code: "payload_too_large" });
  expect(seen.taken).toBe(2);
});

test("exactly as much as is allowed → read", async () => {
  expect(await readText(post("1234567", { "content-length": "7" }), 7)).toBe("1234567");
});

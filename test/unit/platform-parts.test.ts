import { describe, expect, test } from "vitest";
import { parseRange } from "../../local/platform/storage-files.ts";
import { BadForm, readMultipart } from "../../local/platform/storage-upload.ts";
import { restStatus } from "../../local/platform/platform-connection.ts";

describe("a Range header", () => {
  test.each([
    [null, null],
    ["bytes=0-0", { start: 0, end: 0 }],
    ["bytes=2-", { start: 2, end: 9 }],
    ["bytes=-3", { start: 7, end: 9 }],
    ["bytes=4-99", { start: 4, end: 9 }],
    ["bytes=10-", null],
    ["bytes=5-4", null],
    ["bytes=0-1,4-5", null],
  ])("%s of 10 bytes → %o", (header, range) => {
    expect(parseRange(header, 10)).toEqual(range);
  });
});

describe("a form", () => {
  const encoder = new TextEncoder();
  const head = (name: string, rest = "") => `Content-Disposition: form-data; name="${name}"${rest}\r\n`;
  const file = `${head("", '; filename="a.png"')}Content-Type: image/png\r\n\r\n`;
  /** A file that holds what looks like the boundary, and line ends. */
  const content = "\r\n--edge\r\n--ed\r\n\r\n--edg";
  const form = `--mark\r\n${head("cacheControl")}\r\n60\r\n--mark\r\n${file}${content}\r\n--mark--\r\n`;

  function inPieces(text: string, size: number): ReadableStream<Uint8Array> {
    const bytes = encoder.encode(text);
    let at = 0;
    return new ReadableStream({
      pull(controller) {
        if (at >= bytes.length) return controller.close();
        controller.enqueue(bytes.slice(at, at + size));
        at += size;
      },
    });
  }

  test.each([1, 7, 10_000])("arriving in pieces of %i bytes → fields, type and content as sent", async (size) => {
    const read = await readMultipart(inPieces(form, size), "multipart/form-data; boundary=mark");
    expect([read.fields, read.contentType]).toEqual([{ cacheControl: "60" }, "image/png"]);
    expect(await new Response(read.content).text()).toBe(content);
  });

  test.each([
    ["without a boundary", "multipart/form-data", form],
    ["without a file", "multipart/form-data; boundary=mark", `--mark\r\n${head("a")}\r\n1\r\n--mark--\r\n`],
    ["that ends before its file", "multipart/form-data; boundary=mark", `--mark\r\n${head("a")}`],
    ["with an endless field", "multipart/form-data; boundary=mark", `--mark\r\n${head("a")}\r\n${"x".repeat(200_000)}`],
  ])("%s → BadForm", async (_, type, text) => {
    await expect(readMultipart(inPieces(text, 1_000), type)).rejects.toThrow(BadForm);
  });

  test("whose file breaks off → the content ends with an error, not as if whole", async () => {
    const broken = form.slice(0, form.indexOf("\r\n--mark--"));
    const read = await readMultipart(inPieces(broken, 50), "multipart/form-data; boundary=mark");
    await expect(new Response(read.content).text()).rejects.toThrow(BadForm);
  });
});

test.each([
  ["KEYFR", 400],
  ["P0001", 400],
  ["23514", 400],
  ["P0002", 500],
  ["57014", 500],
  ["40001", 500],
  ["53300", 503],
  ["08006", 503],
  ["28000", 403],
])("SQLSTATE %s → HTTP %i, as PostgREST", (code, status) => {
  expect(restStatus(code)).toBe(status);
});

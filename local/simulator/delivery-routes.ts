import { Hono } from "hono";
import type { Env } from "./api-routes.ts";
import type { Output } from "./stored-files.ts";
import type { Simulator } from "./simulator.ts";

const hugeBytes = 300 * 1024 * 1024;
const pieceBytes = 1024 * 1024;
const slowPieces = 10;
const boxHeaderBytes = 8;
const page = "<!doctype html><html><head><title>Sorry</title></head><body>This is a web page.</body></html>";

/** The output files at `/delivery/<random>/out-0.png`, without authentication, as at the provider. */
export function deliveryRoutes({ outputs, settings }: Simulator): Hono<Env> {
  const routes = new Hono<Env>();
  routes.get("/delivery/:secret/:file", (c) => {
    const output = outputs.get(new URL(c.req.url).pathname);
    if (!output || output.faults.has("output_expired")) return c.text("Not found", 404);
    output.downloads += 1;
    return deliver(output, (ms) => settings.clock.wait(ms));
  });
  return routes;
}

function deliver(output: Output, wait: (ms: number) => Promise<void>): Response {
  const { faults, bytes } = output;
  const headers = new Headers({ "content-type": output.contentType, "cache-control": "private, max-age=3600" });
  if (faults.has("output_flaky") && output.downloads === 1) return new Response("Try again", { status: 503 });
  if (faults.has("output_not_image")) {
    headers.set("content-length", String(page.length));
    return new Response(page, { headers });
  }
  if (faults.has("output_huge")) {
    if (faults.get("output_huge") !== "chunked") headers.set("content-length", String(hugeBytes));
    return new Response(hugeBody(bytes), { headers });
  }
  const padded = Number(faults.get("output_padded"));
  if (padded >= bytes.length + boxHeaderBytes) {
    headers.set("content-length", String(padded));
    return new Response(paddedBody(bytes, padded), { headers });
  }
  headers.set("content-length", String(bytes.length));
  const slow = faults.get("output_slow");
  if (slow === undefined) return new Response(new Uint8Array(bytes), { headers });
  return new Response(slowBody(bytes, Number.parseInt(slow, 10) || 3000, wait), { headers });
}

/** The real file, then zeros up to 300 MB. */
const hugeBody = (start: Uint8Array) => zeroFilled(start, hugeBytes);

/** The MP4 made `total` bytes long with a box of the type `free`, which players ignore. */
function paddedBody(video: Uint8Array, total: number): ReadableStream<Uint8Array> {
  const start = new Uint8Array(video.length + boxHeaderBytes);
  start.set(video);
  const box = new DataView(start.buffer, video.length);
  box.setUint32(0, total - video.length);
  box.setUint32(4, 0x66726565); // "free"
  return zeroFilled(start, total);
}

/** The start, then zeros up to a length, generated while they are read. */
function zeroFilled(start: Uint8Array, total: number): ReadableStream<Uint8Array> {
  const zeros = new Uint8Array(pieceBytes);
  let left = total;
  return new ReadableStream({
    pull(controller) {
      const piece = left === total ? start : zeros.subarray(0, Math.min(left, pieceBytes));
      if (left > 0) controller.enqueue(piece);
      left -= piece.length;
      if (left <= 0) controller.close();
    },
  });
}

/** The file in ten pieces spread over `ms`. */
function slowBody(bytes: Uint8Array, ms: number, wait: (ms: number) => Promise<void>): ReadableStream<Uint8Array> {
  const size = Math.ceil(bytes.length / slowPieces);
  let piece = 0;
  return new ReadableStream({
    async pull(controller) {
      await wait(ms / slowPieces);
      controller.enqueue(bytes.subarray(piece * size, (piece + 1) * size));
      piece += 1;
      if (piece * size >= bytes.length) controller.close();
    },
  });
}

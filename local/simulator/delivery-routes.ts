import { Hono } from "hono";
import type { Env } from "./api-routes.ts";
import type { Simulator } from "./simulator.ts";

const HUGE_BYTES = 300 * 1024 * 1024;
const PIECE_BYTES = 1024 * 1024;
const SLOW_PIECES = 10;
const BOX_HEADER_BYTES = 8;
const PAGE = "<!doctype html><html><head><title>Sorry</title></head><body>This is a web page.</body></html>";

/** The output files at `/delivery/<random>/out-0.png`, without authentication, as at the provider. */
export function deliveryRoutes({ outputs, clock }: Simulator): Hono<Env> {
  const routes = new Hono<Env>();
  routes.get("/delivery/:secret/:file", (c) => {
    const output = outputs.get(new URL(c.req.url).pathname);
    if (!output || output.faults.has("output_expired")) return c.text("Not found", 404);
    output.downloads += 1;
    const { faults, bytes } = output;
    if (faults.has("output_flaky") && output.downloads === 1) return c.text("Try again", 503);
    const headers = new Headers({ "content-type": output.contentType, "cache-control": "private, max-age=3600" });
    const answer = (body: string | Uint8Array | ReadableStream, length: number) => {
      if (faults.get("output_huge") !== "chunked") headers.set("content-length", String(length));
      return new Response(body instanceof Uint8Array ? new Uint8Array(body) : body, { headers });
    };
    if (faults.has("output_not_image")) return answer(PAGE, PAGE.length);
    if (faults.has("output_huge")) return answer(zeroFilled(bytes, HUGE_BYTES), HUGE_BYTES);
    const padded = Number(faults.get("output_padded"));
    if (padded >= bytes.length + BOX_HEADER_BYTES) return answer(paddedBody(bytes, padded), padded);
    const slow = faults.get("output_slow");
    if (slow === undefined) return answer(bytes, bytes.length);
    const pause = (Number.parseInt(slow, 10) || 3000) / SLOW_PIECES;
    return answer(
      slowBody(bytes, () => clock.wait(pause)),
      bytes.length,
    );
  });
  return routes;
}

/** The MP4 made `total` bytes long with a box of the type `free`, which players ignore. */
function paddedBody(video: Uint8Array, total: number): ReadableStream<Uint8Array> {
  const start = new Uint8Array(video.length + BOX_HEADER_BYTES);
  start.set(video);
  const box = new DataView(start.buffer, video.length);
  box.setUint32(0, total - video.length);
  box.setUint32(4, 0x66726565); // "free"
  return zeroFilled(start, total);
}

/** The start, then zeros up to a length, generated while they are read. */
function zeroFilled(start: Uint8Array, total: number): ReadableStream<Uint8Array> {
  const zeros = new Uint8Array(PIECE_BYTES);
  let left = total;
  return new ReadableStream({
    pull(controller) {
      const piece = left === total ? start : zeros.subarray(0, Math.min(left, PIECE_BYTES));
      controller.enqueue(piece);
      left -= piece.length;
      if (left <= 0) controller.close();
    },
  });
}

/** The file in ten pieces, with a pause before each. */
function slowBody(bytes: Uint8Array, pause: () => Promise<void>): ReadableStream<Uint8Array> {
  const size = Math.ceil(bytes.length / SLOW_PIECES);
  let sent = 0;
  return new ReadableStream({
    async pull(controller) {
      await pause();
      controller.enqueue(bytes.subarray(sent, sent + size));
      sent += size;
      if (sent >= bytes.length) controller.close();
    },
  });
}

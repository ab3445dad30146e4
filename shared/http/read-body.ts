import { type Clock, systemClock } from "../platform/clock.ts";
import { retryAfterJitter } from "./retry-after.ts";
import { ApiError } from "./errors.ts";

/** A body without progress for this long is refused. */
const MAX_IDLE_MS = 10_000;
/** How often open bodies are checked, and so the precision of the time limits. */
const CHECK_EVERY_MS = 1_000;
/** The memory of an open body before any of it has arrived: Deno allocates a buffer of this size for each read. */
const READ_BUFFER_BYTES = 64 * 1024;
/** How long a slow body waits for a permit, and keeps its permit without progress. */
const PERMIT_GRACE_MS = 500;

export type BodyLimits = {
  maxBytes: number;
  /** The limit for the whole body, even if the sender sends one byte at a time. */
  maxMs: number;
};

/** Reads a body whole. Throws ApiError: payload_too_large, request_timeout, unavailable, invalid_request. */
export type BodyReader = (
  message: Pick<Request, "headers" | "body">,
  limits: BodyLimits,
) => Promise<Uint8Array<ArrayBuffer>>;

type Settings = {
  /** The limit on the memory of all open bodies together. */
  maxTotalBytes: number;
  /** The limit on open bodies that take more than one read. Each leaves several buffers to the garbage collector. */
  maxSlow?: number;
  maxIdleMs?: () => number;
  clock?: Clock;
};

type OpenBody = {
  buffered: number;
  isSlow: boolean;
  beganAt: number;
  cameAt: number;
  maxMs: number;
  refuse: (error: ApiError) => void;
};

/**
 * A reader for bodies of unknown or untrusted senders. Its memory depends on what has arrived, never on what was announced. When
 * all open bodies together buffer too much, it refuses the one that has stalled the longest. A body that arrives at once, as kicks and
 * nearly all callbacks do, takes one read and is always read. A slow body, one that takes more reads, needs one of `maxSlow` permits.
 * Hono's bodyLimit limits only the size of one body, not its time or the memory of all bodies, and `generate` and `deliver` load no Hono.
 */
export function createBodyReader({
  maxTotalBytes,
  maxSlow = Number.POSITIVE_INFINITY,
  maxIdleMs = () => MAX_IDLE_MS,
  clock = systemClock,
}: Settings): BodyReader {
  /** Open bodies in the order of their last progress. */
  const open = new Set<OpenBody>();
  let buffered = 0;
  let slow = 0;
  const waiting = new Set<() => void>();
  let isWatching = false;

  function setBuffered(body: OpenBody, bytes: number): void {
    buffered += bytes - body.buffered;
    body.buffered = bytes;
    body.cameAt = clock.now();
    open.delete(body);
    open.add(body);
    for (const stalled of open) {
      if (buffered <= maxTotalBytes) return;
      stalled.refuse(crowdedOut());
    }
  }

  /**
   * Takes the permit of a stalled body, or waits for the next free one, behind those that wait already. So a burst of large callbacks waits
   * only while others are read.
   */
  async function acquirePermit(body: OpenBody): Promise<void> {
    const isNext = waiting.size === 0;
    if (slow >= maxSlow) {
      const oldest = [...open].find((one) => one.isSlow);
      if (oldest !== undefined && clock.now() - oldest.cameAt >= PERMIT_GRACE_MS) oldest.refuse(crowdedOut());
    }
    if (slow >= maxSlow || !isNext) {
      await new Promise<void>((resolve) => {
        waiting.add(resolve);
        clock.after(PERMIT_GRACE_MS, () => waiting.delete(resolve) && resolve());
      });
    }
    if (!open.has(body)) return wakeNext(); // the body has ended
    if (slow >= maxSlow) throw crowdedOut();
    body.isSlow = true;
    slow += 1;
  }

  function release(body: OpenBody): void {
    if (!open.delete(body)) return;
    buffered -= body.buffered;
    if (!body.isSlow) return;
    slow -= 1;
    wakeNext();
  }

  function wakeNext(): void {
    const [next] = waiting;
    if (slow < maxSlow && next !== undefined && waiting.delete(next)) next();
  }

  // One timer for all bodies, because most are complete before it fires.
  function watch(): void {
    isWatching = open.size > 0;
    if (!isWatching) return;
    clock.after(CHECK_EVERY_MS, watch);
    const now = clock.now();
    const idleMs = maxIdleMs();
    for (const body of open) {
      if (now - body.cameAt >= idleMs) body.refuse(late(`No data arrived for ${idleMs / 1000} s.`));
      else if (now - body.beganAt >= body.maxMs) body.refuse(late(`It took longer than ${body.maxMs / 1000} s.`));
    }
  }

  return async (request, { maxBytes, maxMs }) => {
    const declared = declaredLength(request.headers);
    if (declared > maxBytes) throw tooLarge(maxBytes);
    // The stream's iterator is not used, because it costs twice as much as reading a small body.
    const reader = request.body?.getReader();
    if (reader === undefined) return new Uint8Array(0);
    let refusal: ApiError | undefined;
    const now = clock.now();
    const body: OpenBody = {
      buffered: 0,
      isSlow: false,
      beganAt: now,
      cameAt: now,
      maxMs,
      refuse(error) {
        refusal = error;
        release(body);
        reader.cancel().catch(() => undefined); // ends the pending read
      },
    };
    let bytes = new Uint8Array(0);
    let length = 0;
    try {
      setBuffered(body, READ_BUFFER_BYTES);
      if (!isWatching) {
        isWatching = true;
        clock.after(CHECK_EVERY_MS, watch);
      }
      if (declared > READ_BUFFER_BYTES) await acquirePermit(body);
      for (;;) {
        const { value } = await reader.read();
        if (refusal !== undefined) throw refusal;
        if (value === undefined) return bytes.subarray(0, length);
        const end = length + value.byteLength;
        if (end > maxBytes) throw tooLarge(maxBytes);
        bytes = append(bytes, length, value, maxBytes);
        length = end;
        if (length === declared) {
          await reader.read(); // reads the end: without it the runtime may keep the connection of a sender that has left
          return bytes.subarray(0, length);
        }
        if (!body.isSlow) await acquirePermit(body);
        if (refusal !== undefined) throw refusal;
        setBuffered(body, READ_BUFFER_BYTES + bytes.buffer.byteLength);
      }
    } catch (error) {
      bytes.buffer.transfer(0); // frees the buffer now
      reader.cancel().catch(() => undefined); // a broken body rejects again
      if (refusal !== undefined) throw refusal;
      if (error instanceof ApiError) throw error;
      throw new ApiError("invalid_request", "The body ended early. Send the request again.", { cause: error });
    } finally {
      release(body);
    }
  };
}

/** The Content-Length; NaN without one, or with Transfer-Encoding, which makes it meaningless. */
export const declaredLength = (headers: Headers): number =>
  headers.has("transfer-encoding") ? Number.NaN : Number(headers.get("content-length") ?? Number.NaN);

/**
 * Copies chunks together, because each chunk, even of one byte, keeps the runtime's buffer of 64 KiB. `transfer` frees the smaller buffer and
 * the chunk's at once, because the garbage collector would let 64 MB of them add up.
 */
function append(
  bytes: Uint8Array<ArrayBuffer>,
  length: number,
  chunk: Uint8Array<ArrayBuffer>,
  maxBytes: number,
): Uint8Array<ArrayBuffer> {
  const needed = length + chunk.byteLength;
  const hasRoom = needed <= bytes.byteLength;
  const room = hasRoom
    ? bytes
    : new Uint8Array(bytes.buffer.transfer(Math.max(needed, Math.min(4 * length, maxBytes))));
  room.set(chunk, length);
  chunk.buffer.transfer(0);
  return room;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Returns the exact text: a byte order mark stays, and nothing is replaced. Throws invalid_request. */
export function decodeBody(bytes: Uint8Array<ArrayBuffer>): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new ApiError("invalid_request", "The body is not UTF-8. Send it again.", { cause });
  }
}

export const tooLarge = (maxBytes: number): ApiError =>
  new ApiError(
    "payload_too_large",
    `The body is larger than the ${maxBytes} bytes this path accepts. Send a smaller one.`,
  );

const late = (sentence: string): ApiError =>
  new ApiError("request_timeout", `The body did not arrive in time. ${sentence} Send the request again.`);

const crowdedOut = (): ApiError =>
  new ApiError(
    "unavailable",
    "The service is receiving too many requests, and this one stalled. Wait for the time in Retry-After, then send it again.",
    { headers: retryAfterJitter() },
  );

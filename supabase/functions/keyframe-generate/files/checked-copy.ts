import { createHash } from "node:crypto";
import type { Step } from "../../../../shared/contract/fields.ts";
import {
  createImageReader,
  detectMedia,
  type MediaFacts,
  type MediaReader,
  type MediaType,
  SIGNATURE_BYTES,
  UnusableMedia,
} from "../../../../shared/media/media.ts";
import { createMp4Reader } from "../../../../shared/media/mp4-reader.ts";
import { OutputError } from "./open-output.ts";

/** The reader for a kind of file. */
export function createMediaReader(type: MediaType): MediaReader {
  return type === "video/mp4" ? createMp4Reader() : createImageReader(type);
}

export type CheckedCopy = {
  type: MediaType;
  /** The bytes of the file. Errors instead of ending when they are not a complete file of its type. */
  body: ReadableStream<Uint8Array>;
  /** The facts about the file. Throws OutputError when the body errored; undefined when it was not read to its end. */
  result(): (MediaFacts & { bytes: number; sha256: string }) | undefined;
};

/**
 * Detects the type by the first bytes, then hashes and checks the file while it passes: at most a chunk and the file's headers are in
 * memory. Throws OutputError when the type does not fit the step.
 */
export async function createCheckedCopy(step: Step, source: AsyncGenerator<Uint8Array>): Promise<CheckedCopy> {
  const { head, type } = await readHead(step, source);
  const reader = createMediaReader(type);
  const hash = createHash("sha256");
  let bytes = 0;
  let checked: (MediaFacts & { bytes: number; sha256: string }) | undefined;
  let problem: unknown;
  let first: Uint8Array | null = head;

  async function next(): Promise<Uint8Array | null> {
    const chunk = first ?? (await source.next()).value ?? null;
    first = null;
    return chunk;
  }

  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const chunk = await next();
          if (chunk === null) {
            checked = { ...reader.end(), bytes, sha256: hash.digest("hex") };
            controller.close();
            return;
          }
          bytes += chunk.byteLength;
          hash.update(chunk);
          reader.push(chunk);
          controller.enqueue(chunk);
        } catch (error) {
          problem = error instanceof UnusableMedia ? notUsable(error.message) : error;
          controller.error(problem);
          await source.return(undefined);
        }
      },
      cancel: async () => void (await source.return(undefined)),
    },
    { highWaterMark: 0 },
  );
  return {
    type,
    body,
    result() {
      if (problem !== undefined) throw problem;
      return checked;
    },
  };
}

async function readHead(
  step: Step,
  source: AsyncGenerator<Uint8Array>,
): Promise<{ head: Uint8Array; type: MediaType }> {
  let head: Uint8Array = new Uint8Array(0);
  while (head.byteLength < SIGNATURE_BYTES) {
    const { value } = await source.next();
    if (value === undefined) break;
    head = head.byteLength === 0 ? value : joined(head, value);
  }
  const type = detectMedia(head);
  if (type !== null && (type === "video/mp4") === (step === "video")) return { head, type };
  await source.return(undefined);
  const wanted = step === "video" ? "an MP4 video" : "a PNG, JPEG or WebP image";
  throw notUsable(`It is not ${wanted}.`);
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array {
  const both = new Uint8Array(one.byteLength + other.byteLength);
  both.set(one);
  both.set(other, one.byteLength);
  return both;
}

function notUsable(why: string): OutputError {
  return new OutputError(
    "output_not_usable",
    `The provider's output cannot be used: ${why} Run the step again.`,
    false,
  );
}

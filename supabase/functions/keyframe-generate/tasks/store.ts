import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { createImageReader } from "../../../../shared/media/image-reader.ts";
import {
  detectMedia,
  isImageType,
  MEDIA_EXTENSIONS,
  type MediaFacts,
  type MediaReader,
  type MediaType,
  SIGNATURE_BYTES,
  UNKNOWN,
  UnusableMedia,
} from "../../../../shared/media/media.ts";
import { createVideoReader } from "../../../../shared/media/video-reader.ts";
import { describeError } from "../../../../shared/platform/log.ts";
import { OutputError, readOutput } from "../files/open-output.ts";
import { StorageError, type StoredFile } from "../files/storage.ts";
import type { Deps, StoredOutput } from "./database.ts";
import type { StoreTask } from "./task.ts";

/**
 * Copies the output of a provider run into Storage, checks it meanwhile, and completes the prediction. Throws DatabaseError. If the
 * prediction ends without its output, the database removes what this task may have written, once the task is finished.
 */
export async function store(task: StoreTask, deps: Deps, signal: AbortSignal): Promise<void> {
  const source = readOutput(task.provider_output_url, deps.outputs, signal);
  try {
    const copy = await createCheckedCopy(source);
    // The name is the same for every attempt, so that a repeated copy leaves no second file.
    const name = `${task.owner_id}/${task.project_id}/${task.id}.${MEDIA_EXTENSIONS[copy.type]}`;
    await upload({ bucket: "keyframe-outputs", name }, copy, deps, signal);
    const checked = copy.result();
    if (!checked) throw new StorageError("upload", null, new Error("Storage did not read the whole file"));
    const { durationSeconds, hasAudio, note, ...facts } = checked;
    const output: StoredOutput = {
      output_path: name,
      content_type: copy.type,
      ...facts,
      duration_seconds: durationSeconds,
      has_audio: hasAudio,
    };
    if (await deps.database.complete(task, output)) {
      deps.log.info("output_stored", {
        predictionId: task.id,
        step: task.step,
        type: copy.type,
        bytes: output.bytes,
        note,
      });
      return;
    }
    deps.log.warn("output_too_late", { predictionId: task.id });
  } catch (error) {
    if (!(error instanceof OutputError || error instanceof StorageError)) throw error;
    await recordProblem(task, error, deps);
  } finally {
    void source.return(undefined); // ends a transfer that is still in progress, without waiting for it
  }
}

async function upload(file: StoredFile, copy: CheckedCopy, { storage }: Deps, signal: AbortSignal): Promise<void> {
  try {
    await storage.upload(file, copy.type, copy.body, signal);
  } catch (error) {
    copy.result(); // throws the error of the source, if that was the cause
    throw error;
  }
}

async function recordProblem(
  task: StoreTask,
  error: OutputError | StorageError,
  { database, log }: Deps,
): Promise<void> {
  const { code, message } = explain(error);
  log.warn("store_failed", { predictionId: task.id, code, reason: describeError(error) });
  // An output can be missing for a moment; missing twice in a row means that it has expired.
  const isMissingOnce = code === "output_expired" && task.last_error !== code;
  if (isMissingOnce || code === "output_unreachable" || code === "storage_unavailable")
    await database.retryPrediction(task, { code, message });
  // A rerun would give a file of the same size.
  else await database.fail(task, { code, message }, { retryable: code !== "output_too_large" });
}

function explain(error: OutputError | StorageError): {
  code: OutputError["code"] | "storage_unavailable";
  message: string;
} {
  if (error instanceof OutputError) return error;
  if (error.status === 413) {
    const message = "The output is larger than Storage allows. An administrator can raise the limit.";
    return { code: "output_too_large", message };
  }
  return { code: "storage_unavailable", message: "The output could not be stored." };
}

type Checked = MediaFacts & { bytes: number; sha256: string };

type CheckedCopy = {
  type: MediaType;
  /** The bytes of the file. The stream errors if no part of the file can be shown or played. */
  body: ReadableStream<Uint8Array>;
  /** The facts about the file. Throws OutputError if the body errored; undefined if it was not read to the end. */
  result(): Checked | undefined;
};

/**
 * Detects the type by the first bytes, then hashes and checks the file while it passes. At most a chunk and the file's headers are in memory.
 * Any type that browsers can show or play is stored for any step, because it is paid for. Throws OutputError for other types.
 */
export async function createCheckedCopy(source: AsyncGenerator<Uint8Array>): Promise<CheckedCopy> {
  const { head, type } = await readHead(source);
  const reader = createMediaReader(type);
  const hash = createHash("sha256");
  let bytes = 0;
  let checked: Checked | undefined;
  let problem: unknown;

  let chunk: Uint8Array | undefined = head;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          chunk ??= (await source.next()).value;
          if (chunk === undefined) {
            checked = { ...reader.end(), bytes, sha256: hash.digest("hex") };
            return controller.close();
          }
          bytes += chunk.byteLength;
          hash.update(chunk);
          reader.push(chunk);
          controller.enqueue(chunk);
          chunk = undefined;
        } catch (error) {
          problem = error instanceof UnusableMedia ? notUsable(error.message) : error;
          throw problem;
        }
      },
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

/** The reader for a type of file. Icons, Ogg and audio files are stored without reading their metadata. */
export function createMediaReader(type: MediaType): MediaReader {
  if (isImageType(type)) return createImageReader(type);
  const facts = { ...UNKNOWN, hasAudio: type.startsWith("audio/") ? true : null };
  return createVideoReader(type) ?? { push() {}, end: () => facts };
}

async function readHead(source: AsyncGenerator<Uint8Array>): Promise<{ head: Uint8Array; type: MediaType }> {
  let head: Uint8Array = new Uint8Array(0);
  while (head.byteLength < SIGNATURE_BYTES) {
    const { value } = await source.next();
    if (value === undefined) break;
    head = Buffer.concat([head, value]);
  }
  const type = detectMedia(head);
  if (type !== null) return { head, type };
  throw notUsable("It is not an image, a video or a sound that browsers can show or play.");
}

function notUsable(why: string): OutputError {
  return new OutputError("output_not_usable", `The provider's output cannot be used: ${why} Run the step again.`);
}

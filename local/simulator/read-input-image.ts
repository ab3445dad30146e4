import { type Image, loadImage } from "@napi-rs/canvas";
import type { StoredFiles } from "./stored-files.ts";

const maxBytes = 30 * 1024 * 1024;
const timeoutMs = 15_000;

export type InputImage = { bytes: Uint8Array; image: Image };
export type InputSource = { files: StoredFiles; fetch: typeof fetch; baseUrl: string };

/**
 * Reads an input file: an http(s) URL, a data URL, or the URL of a file uploaded here.
 * Throws an Error whose message becomes the prediction's error, as when a real model cannot load its input.
 */
export async function readInputImage(url: string, source: InputSource, signal: AbortSignal): Promise<InputImage> {
  const bytes = readUpload(url, source) ?? (await download(url, source, signal));
  try {
    return { bytes, image: await loadImage(bytes) };
  } catch {
    throw new Error(`Prediction failed: cannot identify image file ${shorten(url)}`);
  }
}

function readUpload(url: string, { files, baseUrl }: InputSource): Uint8Array | null {
  const prefix = `${baseUrl}/v1/files/`;
  if (!url.startsWith(prefix)) return null;
  const file = files.get(url.slice(prefix.length));
  if (!file) throw new Error(`Prediction failed: file ${shorten(url)} does not exist or has expired`);
  return file.bytes;
}

async function download(url: string, source: InputSource, signal: AbortSignal): Promise<Uint8Array> {
  let response: Response;
  try {
    response = await source.fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) });
  } catch (error) {
    signal.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`Prediction failed: cannot fetch ${shorten(url)}: ${reason}`);
  }
  if (!response.ok) {
    await response.body?.cancel();
    const kind = response.status < 500 ? "Client" : "Server";
    throw new Error(`${kind} error '${response.status} ${response.statusText}' for url '${shorten(url)}'`);
  }
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (bytes.length > maxBytes) throw new Error(`Prediction failed: ${shorten(url)} is larger than ${maxBytes} bytes`);
  return bytes;
}

function shorten(url: string): string {
  return url.length > 120 ? `${url.slice(0, 120)}…` : url;
}

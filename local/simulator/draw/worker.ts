/// <reference lib="webworker" />
import { type Canvas, loadImage } from "@napi-rs/canvas";
import type { OutputBytes } from "../outputs.ts";
import { drawScene } from "./draw-scene.ts";
import { encodePng } from "./encode-png.ts";
import type { FromPainter, Picture, ToPainter } from "./messages.ts";

// The DOM's `self` is a Window; here it is a worker's scope, of which only these two are needed.
const scope = self as unknown as {
  onmessage: ((event: MessageEvent<ToPainter>) => void) | null;
  postMessage(message: FromPainter, transfer?: Transferable[]): void;
};

scope.onmessage = ({ data: { job, picture } }) => {
  draw(picture)
    .then((output) => scope.postMessage({ type: "done", job, output }, [output.bytes.buffer as ArrayBuffer]))
    .catch((error: unknown) => scope.postMessage({ type: "failed", job, error: String(error) }));
};

async function draw({ references, format, ...scene }: Picture): Promise<OutputBytes> {
  const images = await Promise.all(references.map((bytes) => loadImage(bytes)));
  return await encode(drawScene({ ...scene, references: images }), format);
}

/** The bytes are in a buffer of their own, which can be handed over. */
async function encode(canvas: Canvas, format: unknown): Promise<OutputBytes> {
  if (format === "jpg") {
    return { bytes: new Uint8Array(await canvas.encode("jpeg", 90)), contentType: "image/jpeg", extension: "jpg" };
  }
  if (format === "webp") {
    return { bytes: new Uint8Array(await canvas.encode("webp", 90)), contentType: "image/webp", extension: "webp" };
  }
  return { bytes: encodePng(canvas), contentType: "image/png", extension: "png" };
}

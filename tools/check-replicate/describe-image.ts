import type { LiveImage } from "./make-image.ts";

/** What came, how long it took, and where its price stands. */
export function describeImage(
  { bytes, type, facts, predictSeconds }: LiveImage,
  { model, file, seconds }: { model: string; file: string; seconds: string },
): string {
  const ran = predictSeconds === null ? "" : `, of which the model ran ${predictSeconds.toFixed(1)} s`;
  return `Image      ${type}, ${facts.width} × ${facts.height}, ${bytes.byteLength} bytes, SHA-256 ${facts.sha256}
Kept       ${file}
Time       ${seconds} s${ran}
Cost       one run of ${model}: https://replicate.com/account/billing shows it
It works: token, model, input, run, download and file.`;
}

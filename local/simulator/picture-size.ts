export type Size = { width: number; height: number };

/**
 * The pixel size of a picture with the given aspect ratio ("16:9", "1:1", "match_input_image"…): as many pixels as a
 * 16:9 picture of `base` width has, both sides even, as video wants them. Anything that is no ratio means 16:9.
 */
export function pictureSize(aspectRatio: unknown, base: number, reference: Size | undefined): Size {
  const ratio = parseRatio(aspectRatio, reference);
  const pixels = (base * base * 9) / 16;
  const even = (value: number) => Math.max(16, Math.round(value / 2) * 2);
  return { width: even(Math.sqrt(pixels * ratio)), height: even(Math.sqrt(pixels / ratio)) };
}

function parseRatio(aspectRatio: unknown, reference: Size | undefined): number {
  if (aspectRatio === "match_input_image" && reference) {
    return Math.max(0.4, Math.min(2.5, reference.width / reference.height));
  }
  const [, wide, tall] = /^(\d+):(\d+)$/.exec(String(aspectRatio)) ?? [];
  return wide && tall ? Number(wide) / Number(tall) : 16 / 9;
}

import { Buffer } from "node:buffer";
import { expect, onTestFinished, test } from "vitest";
import { bundle } from "../../support/client/bundle.ts";
import { openApp } from "../../support/client/open-app.ts";
import { drawPhoto, readMetadata, readPixels, withLocation } from "../../support/media/photos.ts";

test("a JPEG of each Exif orientation, in a browser → the pixels that are shown; an upright one is not changed", async () => {
  const text = `import { makeUpright } from "../client/upright.ts";
    globalThis.upright = async (bytes) => [...await (await makeUpright(new Blob([new Uint8Array(bytes)]))).bytes()];`;
  const { page, close } = await openApp(await bundle("test/upright-page.ts", { text }));
  onTestFinished(async () => void (await close()));
  const upright = async (photo: Uint8Array) => new Uint8Array(await page.evaluate<number[]>(`upright([${photo}])`));
  const plain = await drawPhoto("jpeg");
  for (const orientation of [1, 2, 3, 4, 5, 6, 7, 8]) {
    for (const isLittle of [false, true]) {
      const photo = withLocation("jpeg", plain, orientation, isLittle);
      const made = await upright(photo);
      if (orientation === 1) expect(made).toEqual(photo);
      else expect(readMetadata(made).orientation).toBeNull();
      expect(await difference(made, photo)).toBeLessThan(8);
    }
  }
  // A comment, a table without entries and fill bytes before the Exif, as some programs write them.
  const turned = withLocation("jpeg", plain, 6, false);
  const before = [0xff, 0xfe, 0, 3, 65, 0xff, 0xdb, 0, 2, 0xff];
  const photo = new Uint8Array([...turned.subarray(0, 2), ...before, ...turned.subarray(2)]);
  expect(readMetadata(await upright(photo)).orientation).toBeNull();
});

/** Of two images as they are shown: by how much, of 255, a colour differs on average. Infinity for other sizes. */
async function difference(one: Uint8Array, other: Uint8Array): Promise<number> {
  const [a, b] = [await readPixels(one), await readPixels(other)];
  if (a.width !== b.width || a.height !== b.height) return Number.POSITIVE_INFINITY;
  const [left, right] = [Buffer.from(a.data, "hex"), Buffer.from(b.data, "hex")];
  return left.reduce((sum, colour, at) => sum + Math.abs(colour - (right[at] ?? 0)), 0) / left.length;
}

import { Buffer } from "node:buffer";
import { crc32, deflateSync, inflateSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sniffImage } from "../../../shared/media/image-reader.ts";
import { stripMetadata } from "../../../shared/media/strip-metadata.ts";
import {
  drawPhoto,
  exif,
  manifestStore,
  oddAssertions,
  PHOTO_KINDS,
  type PhotoKind,
  PLACE,
  pngChunk,
  readMetadata,
  readPixels,
  riff,
  segment,
  sourceType,
  webpChunk,
  withLocation,
  withManifest,
  withoutProfile,
  withXmp,
} from "../../support/media/photos.ts";
import { joined } from "../../support/security/files.ts";

/** Of a copy: it works in the bytes that it is given. */
const read = (kind: PhotoKind, bytes: Uint8Array) => stripMetadata(bytes.slice(), `image/${kind}`);
const strip = (kind: PhotoKind, bytes: Uint8Array) => read(kind, bytes)?.bytes ?? null;

function stripped(kind: PhotoKind, bytes: Uint8Array): Uint8Array {
  const result = strip(kind, bytes);
  if (result === null) throw new Error("The image is taken for damaged.");
  return result;
}

const holds = (bytes: Uint8Array, words: string) => Buffer.from(bytes).includes(words);

describe.each(PHOTO_KINDS)("a %s", (kind) => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    "an image with a location in all its metadata, orientation %i → the image without it, and its orientation",
    async (orientation) => {
      for (const isLittle of [false, true]) {
        const plain = await drawPhoto(kind);
        const photo = withLocation(kind, plain, orientation, isLittle);
        // Another reader finds it, so the photo is as real ones are.
        expect(readMetadata(photo)).toMatchObject({ gps: { Latitude: expect.closeTo(37.8087, 4) }, orientation });
        expect(read(kind, photo)).toMatchObject({ bytes: plain, orientation });
      }
    },
  );

  test("an image without metadata → not one byte is changed", async () => {
    const plain = await drawPhoto(kind);
    expect(stripped(kind, plain)).toEqual(plain);
  });
});

/** A JPEG with these segments after SOI. */
const jpegWith = async (...parts: (Uint8Array<ArrayBuffer> | string)[]) => {
  const plain = await drawPhoto("jpeg");
  return { plain, photo: joined(plain.slice(0, 2), ...parts, plain.slice(2)) };
};
const exifSegment = (content: Uint8Array<ArrayBuffer>) => segment(0xe1, "Exif\0\0", content);

/** A colour profile of a red, in which a home folder and a monitor's serial number stand. */
function profileOf(...names: string[]): Uint8Array<ArrayBuffer> {
  const [folder = "", serial = ""] = names;
  const word = (value: number) => new Uint8Array([0, 0, value >> 8, value & 255]);
  const tags = [
    ["desc", `desc\0\0\0\0${folder}`],
    ["rXYZ", "XYZ \0\0\0\0\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c"],
    ["mmod", `mmod\0\0\0\0${serial}`],
  ] as const;
  const table: Uint8Array<ArrayBuffer>[] = [];
  let at = 132 + 12 * tags.length;
  for (const [name, content] of tags) {
    table.push(joined(name, word(at), word(content.length)));
    at += content.length;
  }
  const header = joined(new Uint8Array(36), "acsp", new Uint8Array(8), "APPLMOD1", new Uint8Array(72));
  return joined(header, word(tags.length), ...table, ...tags.map(([, content]) => content));
}

test("a color profile with a home folder and a serial number, in each format → only the colors are left", async () => {
  const names = ["/Users/pat/Desktop/Calibrated.icc", "S/N CN-0X1Y2Z"];
  const whole = profileOf(...names);
  const jpeg = async (...parts: Uint8Array<ArrayBuffer>[]) => {
    const plain = await drawPhoto("jpeg");
    const segments = parts.map((part, index) =>
      segment(0xe2, "ICC_PROFILE\0", new Uint8Array([index + 1, parts.length]), part),
    );
    return joined(plain.slice(0, 2), ...segments, plain.slice(2));
  };
  const png = await drawPhoto("png");
  const chunk = pngChunk("iCCP", "Pat's monitor\0\0", new Uint8Array(deflateSync(whole)));
  const webp = await drawPhoto("webp");
  const canvas = webpChunk("VP8X", Uint8Array.of(0x20, 0, 0, 0, 47, 0, 0, 31, 0, 0));
  const picture = webp.slice(Buffer.from(webp).indexOf("VP8 "));
  const results = [
    stripped("jpeg", await jpeg(whole)),
    stripped("jpeg", await jpeg(whole.slice(0, 190), whole.slice(190))),
    stripped("png", joined(png.slice(0, 33), chunk, png.slice(33))),
    stripped("webp", riff(canvas, webpChunk("ICCP", whole), picture)),
  ];
  const at = Buffer.from(results[2] ?? []).indexOf("iCCP");
  const end = at + 4 + Buffer.from(results[2] ?? []).readUInt32BE(at - 4);
  expect(Buffer.from(results[2] ?? []).readUInt32BE(end)).toBe(crc32(results[2]?.subarray(at, end) ?? ""));
  results.push(new Uint8Array(inflateSync(results[2]?.subarray(at + 9) ?? new Uint8Array())));
  for (const result of results)
    for (const name of [...names, "Pat", "APPL", "MOD1", "CN-0"]) expect(holds(result, name)).toBe(false);
  for (const at of [0, 3, 4]) expect(holds(results[at] ?? png, "XYZ \0\0\0\0\x01\x02\x03\x04")).toBe(true);
  expect(Buffer.from(results[1] ?? []).includes("ICC_PROFILE\0\x02\x02")).toBe(true);
});

test("a PNG whose color profile gets longer when it is compressed again → the same colors", async () => {
  let seed = 1;
  const table = Uint8Array.from({ length: 1_000_000 }, () => {
    seed = (seed * 48271) % 0x7fffffff;
    return seed >> 16;
  });
  const place = Uint8Array.of(0, 0, 0, 144, 0, 15, 66, 64); // where it begins, and its length
  const profile = joined(new Uint8Array(128), "\0\0\0\x01", "A2B0", place, table);
  const compressed = new Uint8Array(deflateSync(profile, { level: 0 })); // fewer blocks of what cannot be compressed
  expect(deflateSync(profile, { level: 9 }).length).toBeGreaterThan(compressed.length);
  const png = await drawPhoto("png");
  const photo = joined(png.slice(0, 33), pngChunk("iCCP", "icc\0\0", compressed), png.slice(33));
  const result = Buffer.from(stripped("png", photo) ?? []);
  const at = result.indexOf("iCCP");
  expect([at, inflateSync(result.subarray(at + 9)).equals(profile)]).toEqual([37, true]);
  expect(await readPixels(result)).toEqual(await readPixels(png));
});

test("a JPEG's color profile in APP2 chunks out of order → its colors are left, and no name", async () => {
  const whole = profileOf("/Users/pat/Desktop/Calibrated.icc", "S/N CN-0X1Y2Z");
  const plain = await drawPhoto("jpeg");
  const part = (number: number, bytes: Uint8Array<ArrayBuffer>) =>
    segment(0xe2, "ICC_PROFILE\0", new Uint8Array([number, 2]), bytes);
  const parts = [part(2, whole.slice(190)), part(1, whole.slice(0, 190))];
  const own = Buffer.from(plain).indexOf("ICC_PROFILE") - 4;
  const after = plain.slice(own + 2 + Buffer.from(plain).readUInt16BE(own + 2));
  const result = stripped("jpeg", joined(plain.slice(0, own), ...parts, after));
  expect(holds(result, "XYZ \0\0\0\0\x01\x02\x03\x04")).toBe(true);
  for (const name of ["pat", "CN-0"]) expect(holds(result, name)).toBe(false);
});

test("an image with two Exif segments or chunks → the orientation of the first", async () => {
  const [jpeg, png, webp] = await Promise.all([drawPhoto("jpeg"), drawPhoto("png"), drawPhoto("webp")]);
  const photos = {
    jpeg: (parts: Uint8Array<ArrayBuffer>[]) => joined(jpeg.slice(0, 2), ...parts.map(exifSegment), jpeg.slice(2)),
    png: (parts: Uint8Array<ArrayBuffer>[]) =>
      joined(png.slice(0, 33), ...parts.map((part) => pngChunk("eXIf", part)), png.slice(33)),
    webp: (parts: Uint8Array<ArrayBuffer>[]) => riff(webp.slice(12), ...parts.map((part) => webpChunk("EXIF", part))),
  };
  for (const kind of PHOTO_KINDS) {
    for (const first of [1, 3]) expect(read(kind, photos[kind]([exif(first), exif(6)]))?.orientation).toBe(first);
  }
});

test("a WebP with chunks of odd length → removed together with their padding", async () => {
  const plain = await drawPhoto("webp");
  expect(stripped("webp", riff(plain.slice(12, 30), webpChunk("odd ", "odd"), plain.slice(30)))).toEqual(plain);
});

test("a WebP in the simple format, which may not have Exif, with Exif → only the image, upright", async () => {
  const extended = await drawPhoto("webp");
  const picture = extended.slice(Buffer.from(extended).indexOf("VP8 "));
  expect(read("webp", riff(picture, webpChunk("EXIF", exif(6))))).toEqual({ bytes: riff(picture), orientation: 1 });
});

test("a JPEG with metadata after its scan, and bytes between its segments → none of them is left", async () => {
  const plain = await drawPhoto("jpeg");
  const [start, end] = [plain.slice(0, 20), plain.slice(20)]; // after JFIF
  const late = [PLACE, segment(0xfe, PLACE), PLACE, exifSegment(exif(6))];
  const photo = joined(
    start,
    segment(0xfe, PLACE),
    PLACE,
    end.slice(0, -2),
    segment(0xfe, PLACE),
    ...late,
    end.slice(-2),
  );
  const result = stripped("jpeg", photo);
  expect(holds(result, PLACE)).toBe(false);
  expect(readMetadata(result).gps).toBeNull();
  expect((await readPixels(result)).data).toEqual((await readPixels(plain)).data);
});

test("an animated PNG → only its static image", async () => {
  const plain = await drawPhoto("png");
  const control = pngChunk("fcTL", new Uint8Array(26));
  const frames = [pngChunk("acTL", new Uint8Array(8)), control, plain.slice(33, -12), control, pngChunk("fdAT", PLACE)];
  expect(stripped("png", joined(plain.slice(0, 33), ...frames, plain.slice(-12)))).toEqual(plain);
});

describe("Exif that cannot be read", () => {
  const changed = (at: number, ...values: number[]) => {
    const tiff = exif(6);
    tiff.set(values, at);
    return tiff;
  };
  test.each<[string, Uint8Array<ArrayBuffer>]>([
    ["nothing", new Uint8Array()],
    ["of 25 bytes", exif(6).slice(0, 25)],
    ["neither of the two byte orders", changed(0, 0x4d, 0x49)],
    ["another number than 42", changed(3, 43)],
    ["its IFD far after the end", changed(4, 0xff, 0xff, 0xff, 0xff)],
    ["its IFD at the last byte", changed(4, 0, 0, 0, exif(6).length - 1)],
    ["an IFD of 65,535 entries", joined(exif(6).slice(0, 8), new Uint8Array([0xff, 0xff]), new Uint8Array(61))],
    ["no orientation", changed(23, 0x13)],
    ["an orientation of type ASCII", changed(25, 2)],
    ["two orientations", changed(29, 2)],
    ["orientation 0", exif(0)],
    ["orientation 9", exif(9)],
  ])("Exif with %s → removed, and the image is upright", async (_what, content) => {
    const { plain, photo } = await jpegWith(exifSegment(content));
    expect(read("jpeg", photo)).toMatchObject({ bytes: plain, orientation: 1 });
    const png = await drawPhoto("png");
    const withChunk = joined(png.slice(0, 33), pngChunk("eXIf", content), png.slice(33));
    expect(read("png", withChunk)).toEqual({ bytes: png, orientation: 1 });
    const webp = await drawPhoto("webp");
    expect(read("webp", riff(webp.slice(12), webpChunk("EXIF", content)))).toEqual({ bytes: webp, orientation: 1 });
  });
});

describe.each(PHOTO_KINDS)("where a %s came from", (kind) => {
  const AI = "trainedAlgorithmicMedia";
  const plain = async () => withoutProfile(kind, await drawPhoto(kind));
  const originOf = (bytes: Uint8Array) => {
    for (const words of [PLACE, "GPS", "Pat", "c2pa"]) expect([words, holds(bytes, words)]).toEqual([words, false]);
    const [xmp] = readMetadata(bytes).texts as [Record<string, { value: unknown }>?];
    expect(stripped(kind, bytes)).toEqual(bytes); // uploaded once more
    return xmp?.DigitalSourceType?.value;
  };

  test("a C2PA manifest of an image generator, and nothing to remove → not one byte is changed", async () => {
    for (const more of [{}, { "c2pa.ingredient.v3__1": "another image", "c2pa.soft-binding": "a watermark" }]) {
      const made = withManifest(kind, await plain(), manifestStore(AI, more));
      expect(stripped(kind, made)).toEqual(made);
    }
  });

  test("a C2PA manifest with a position, a preview, a camera or an author → removed, and its DigitalSourceType is left", async () => {
    const picture = await plain();
    for (const label of [
      "stds.exif",
      "c2pa.metadata",
      "c2pa.thumbnail.claim",
      "stds.schema-org.CreativeWork",
      "com.maker.more",
    ]) {
      const made = withManifest(kind, picture, manifestStore(AI, { [label]: `Pat, ${PLACE}` }));
      expect(originOf(stripped(kind, made))).toBe(sourceType(AI));
    }
    const camera = withManifest(kind, picture, manifestStore("digitalCapture"));
    expect(originOf(stripped(kind, camera))).toBe(sourceType("digitalCapture"));
  });

  test("a C2PA manifest next to metadata whose removal breaks its signature → only its DigitalSourceType is left", async () => {
    const made = withLocation(kind, withManifest(kind, await drawPhoto(kind), manifestStore(AI)), 1);
    const result = stripped(kind, made);
    expect(originOf(result)).toBe(sourceType(AI));
    expect(readMetadata(result).gps).toBeNull();
    expect((await readPixels(result)).data).toEqual((await readPixels(made)).data);
  });

  test("XMP with a DigitalSourceType, an author and a location → only the DigitalSourceType", async () => {
    const attributes = `xmlns:dc="http://purl.org/dc/elements/1.1/" dc:creator="Pat, ${PLACE}" xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/" Iptc4xmpExt:DigitalSourceType="${sourceType(AI)}"`;
    expect(originOf(stripped(kind, withXmp(kind, await drawPhoto(kind), attributes)))).toBe(sourceType(AI));
  });

  test("a C2PA manifest with other boxes than text and salts → removed; with salts → kept", async () => {
    const { beside, described, salted } = oddAssertions(`Pat, ${PLACE}`);
    for (const odd of [...beside, ...described])
      expect(originOf(stripped(kind, withManifest(kind, await plain(), manifestStore(AI, {}, odd))))).toBe(
        sourceType(AI),
      );
    const made = withManifest(kind, await plain(), manifestStore(AI, {}, ...salted));
    expect(stripped(kind, made)).toEqual(made);
  });

  test("a C2PA manifest with boxes that are too long, endless or nested → removed", async () => {
    const store = manifestStore(AI);
    const deep = Array.from({ length: 2000 }).reduce<Uint8Array<ArrayBuffer>>(
      (inner) => joined(new Uint8Array(2), new Uint8Array([(inner.length + 8) >> 8, inner.length + 8]), "jumb", inner),
      joined(sourceType(AI)),
    );
    for (const broken of [store.slice(0, -1), store.with(3, 0), store.with(8, 1), deep]) {
      expect(originOf(stripped(kind, withManifest(kind, await plain(), broken)))).toBe(sourceType(AI));
    }
  });
});

describe("damaged images", () => {
  const bytes = (...values: number[]) => new Uint8Array(values);
  const beforeEnd = (it: Uint8Array<ArrayBuffer>, ...values: number[]) =>
    joined(it.slice(0, -2), bytes(...values), it.slice(-2));
  const insertedAt = (it: Uint8Array, words: number[], offset: number, more: Uint8Array) => {
    const at = Buffer.from(it).indexOf(Uint8Array.from(words)) + offset;
    return joined(it.slice(0, at), more, it.slice(at));
  };
  const tooLong = joined("EXIF", bytes(9, 0, 0, 0), "12345678");
  const cutChunk = pngChunk("eXIf", exif(6)).slice(0, -4);
  test.each<[string, PhotoKind, (plain: Uint8Array<ArrayBuffer>) => Uint8Array]>([
    ["a segment longer than the file", "jpeg", (it) => joined(it.slice(0, -2), bytes(0xff, 0xfe, 0xff, 0xff), PLACE)],
    ["a segment of length 1", "jpeg", (it) => beforeEnd(it, 0xff, 0xe1, 0, 1)],
    ["a segment cut off in its length", "jpeg", (it) => joined(it.slice(0, -2), bytes(0xff, 0xe1, 0))],
    ["another image instead of EOI", "jpeg", (it) => joined(it.slice(0, -2), it, new Uint8Array(0xffff))],
    ["an SOF too short for its size", "jpeg", (it) => insertedAt(it, [0xff, 0xc0], 2, bytes(0, 2))],
    ["its SOF in a comment", "jpeg", (it) => insertedAt(it, [0xff, 0xc0], 0, bytes(0xff, 0xfe, 0, 19))],
    ["cut off in its scan", "jpeg", (it) => it.slice(0, -20)],
    ["cut off in EOI", "jpeg", (it) => it.slice(0, -1)],
    ["a reserved marker", "jpeg", (it) => beforeEnd(it, 0xff, 0x02, 0, 2)],
    ["a chunk too long", "png", (it) => joined(it.slice(0, 33), bytes(255, 255, 255, 255), "tEXt", it.slice(33))],
    ["a CRC after the end of the file", "png", (it) => joined(it.slice(0, 33), cutChunk)],
    ["cut off in its IDAT", "png", (it) => it.slice(0, 90)],
    ["without IEND", "png", (it) => it.slice(0, -12)],
    ["cut off in IEND", "png", (it) => it.slice(0, -1)],
    ["a chunk longer than RIFF", "webp", (it) => riff(it.slice(12), tooLong)],
    ["RIFF longer than the file", "webp", (it) => it.slice(0, -1)],
  ])("a damaged image, %s (%s) → refused", async (_what, kind, damage) => {
    expect(strip(kind, damage(await drawPhoto(kind)))).toBeNull();
  });
});

test("an image without pixel data, as a truncated file leaves it → treated as damaged", async () => {
  const [jpeg, png] = [await drawPhoto("jpeg"), await drawPhoto("png")];
  const head = jpeg.slice(0, Buffer.from(jpeg).indexOf(Uint8Array.of(0xff, 0xda)));
  const canvas = webpChunk("VP8X", Uint8Array.of(0, 0, 0, 0, 63, 0, 0, 47, 0, 0));
  const images: [PhotoKind, Uint8Array][] = [
    ["jpeg", head],
    ["jpeg", joined(head, jpeg.slice(-2))],
    ["png", joined(png.slice(0, 33), png.slice(-12))],
    ["webp", riff(canvas)],
  ];
  for (const [kind, image] of images) {
    expect(sniffImage(image)).not.toBeNull();
    expect(strip(kind, image)).toBeNull();
  }
});

describe.each(PHOTO_KINDS)("any change to a %s", (kind) => {
  test("any change to an image → treated as damaged, or the same image in no more bytes, with nothing left to remove", async () => {
    const photo = withLocation(kind, await drawPhoto(kind), 6);
    const place = fc.nat(photo.length - 1);
    const change = fc.record({ at: place, insert: fc.uint8Array({ maxLength: 8 }), remove: fc.nat(8) });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 8 }), place, (changes, cut) => {
        let bytes = photo;
        for (const { at, insert, remove } of changes) {
          bytes = joined(bytes.slice(0, at), Uint8Array.from(insert), bytes.slice(at + remove));
        }
        for (const given of [bytes, bytes.slice(0, cut)]) {
          const image = sniffImage(given);
          if (image?.contentType !== `image/${kind}`) continue;
          const result = strip(kind, given);
          if (result === null) continue;
          expect(result.length).toBeLessThanOrEqual(given.length);
          expect(sniffImage(result)).toEqual(image);
          expect(stripped(kind, result)).toEqual(result);
        }
      }),
      { numRuns: 500 },
    );
  });
});

test("a JPEG with 2 MiB of small parts of a manifest → finishes, without them", async () => {
  const plain = withoutProfile("jpeg", await drawPhoto("jpeg"));
  const part = segment(0xeb, "JP", new Uint8Array(30));
  expect(stripped("jpeg", joined(plain.slice(0, 2), ...Array(50_000).fill(part), plain.slice(2)))).toEqual(plain);
});

test("a JPEG with random segments in any order → of these only the headers of JFIF and Adobe are left, without a thumbnail", async () => {
  const plain = await drawPhoto("jpeg");
  const words = fc.constantFrom(
    "Exif\0\0",
    "http://ns.adobe.com/xap/1.0/\0",
    "Photoshop 3.0\0",
    "MPF\0",
    "JFXX\0",
    "JFIX\0",
    "",
  );
  const begin = fc.oneof(
    fc.constantFrom<[number, string]>([0xe0, "JFIF\0"], [0xee, "Adobe"]),
    fc.tuple(fc.integer({ min: 0xe0, max: 0xfe }), words),
  );
  const pixels = await readPixels(plain);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(begin, fc.uint8Array({ maxLength: 100 })), { maxLength: 50 }), async (drawn) => {
      const [added, left] = [[plain.slice(0, 2)], [plain.slice(0, 2)]];
      for (const [[marker, name], rest] of drawn) {
        const content = joined(name, Uint8Array.from(rest), PLACE);
        added.push(segment(marker, content));
        if (name === "JFIF\0") left.push(segment(marker, content.slice(0, 12), "\0\0"));
        if (name === "Adobe") left.push(segment(marker, content.slice(0, 12)));
      }
      const result = stripped("jpeg", joined(...added, plain.slice(2)));
      expect(result).toEqual(joined(...left, plain.slice(2)));
      expect(await readPixels(result)).toEqual(pixels);
    }),
    { numRuns: 100 },
  );
});

describe("2 MiB of the smallest parts", () => {
  const MAX_BYTES = 2 * 1024 * 1024; // time that grows with the square would be hours
  const repeated = (head: Uint8Array, ...unit: number[]) => {
    const bytes = new Uint8Array(MAX_BYTES);
    bytes.set(head);
    for (let at = head.length; at + unit.length <= MAX_BYTES; at += unit.length) bytes.set(unit, at);
    return bytes;
  };
  const empty = (name: string) => [0, 0, 0, 0, ...Buffer.from(name), 0, 0, 0, 0];

  test.each<[string, number[]]>([
    ["APP1", [0xff, 0xe1, 0, 2]],
    ["DQT, then COM", [0xff, 0xdb, 0, 2, 0xff, 0xfe, 0, 2]],
    ["SOS", [0xff, 0xda, 0, 2]],
    ["fill bytes", [0xff]],
    ["nothing", [0]],
  ])("2 MiB of a JPEG's smallest parts, %s → finishes", (_what, unit) => {
    const result = strip("jpeg", repeated(new Uint8Array([0xff, 0xd8]), ...unit));
    expect(result?.length ?? 0).toBeLessThanOrEqual(MAX_BYTES);
  });

  test.each(["tEXt", "IDAT"])("2 MiB of a PNG's smallest parts, %s → finishes", async (name) => {
    expect(strip("png", repeated((await drawPhoto("png")).slice(0, 33), ...empty(name)))).toBeNull();
  });

  test.each(["XMP ", "ALPH"])("2 MiB of a WebP's smallest parts, %s → finishes", async (name) => {
    const bytes = repeated(await drawPhoto("webp"), ...Buffer.from(name), 0, 0, 0, 0);
    new DataView(bytes.buffer).setUint32(4, MAX_BYTES - 8, true);
    expect(stripped("webp", bytes).length).toBeLessThanOrEqual(MAX_BYTES);
  });
});

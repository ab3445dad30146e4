import { Buffer } from "node:buffer";
import { deflateSync } from "node:zlib";
import { createCanvas, loadImage } from "@napi-rs/canvas";
import ExifReader from "exifreader";
import { joined } from "../security/files.ts";
import { withoutNames } from "./images.ts";

export const PHOTO_KINDS = ["jpeg", "png", "webp"] as const;
export type PhotoKind = (typeof PHOTO_KINDS)[number];

type Bytes = Uint8Array<ArrayBuffer>;

export const PLACE = "Pier 39, 37.8087 N";

const number = (value: number, bytes: number, isLittle = false): Bytes => {
  const digits = Array.from({ length: bytes }, (_, at) => Math.floor(value / 256 ** at) % 256);
  return new Uint8Array(isLittle ? digits : digits.reverse());
};

/** Exif of a phone: camera, orientation, and where the photo was taken. */
export function exif(orientation: number, isLittle = false): Bytes {
  const n = (value: number, bytes: number) => number(value, bytes, isLittle);
  const entry = (tag: number, type: number, count: number, value: Bytes) =>
    joined(n(tag, 2), n(type, 2), n(count, 4), value, new Uint8Array(4 - value.length));
  const rationals = (values: number[]) => joined(...values.flatMap((value) => [n(value * 100, 4), n(100, 4)]));
  const directory = (...entries: Bytes[]) => joined(n(entries.length, 2), ...entries, n(0, 4));
  const [ASCII, SHORT, LONG, RATIONAL] = [2, 3, 4, 5];
  const directoryEnd = 8 + 2 + 3 * 12 + 4;
  const make = joined(`${PLACE}\0\0`.slice(0, 20));
  const gps = directoryEnd + 20;
  const gpsEnd = gps + 2 + 4 * 12 + 4;
  return joined(
    isLittle ? "II" : "MM",
    n(42, 2),
    n(8, 4),
    directory(
      entry(0x010f, ASCII, 20, n(directoryEnd, 4)),
      entry(0x0112, SHORT, 1, n(orientation, 2)),
      entry(0x8825, LONG, 1, n(gps, 4)),
    ),
    make,
    directory(
      entry(1, ASCII, 2, joined("N\0")),
      entry(2, RATIONAL, 3, n(gpsEnd, 4)),
      entry(3, ASCII, 2, joined("W\0")),
      entry(4, RATIONAL, 3, n(gpsEnd + 24, 4)),
    ),
    rationals([37, 48, 31.32]),
    rationals([122, 24, 33.84]),
  );
}

const XMP = `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" xmlns:exif="http://ns.adobe.com/exif/1.0/" exif:GPSLatitude="37,48.522N" exif:GPSAreaInformation="${PLACE}"/></rdf:RDF></x:xmpmeta>`;

export const segment = (marker: number, ...content: (Bytes | string)[]): Bytes => {
  const all = joined(...content);
  return joined(number(0xff00 + marker, 2), number(all.length + 2, 2), all);
};

/** A PNG chunk. Readers ignore the CRC of ancillary chunks. */
export const pngChunk = (name: string, ...content: (Bytes | string)[]): Bytes => {
  const all = joined(...content);
  return joined(number(all.length, 4), name, all, number(0, 4));
};

export const webpChunk = (name: string, ...content: (Bytes | string)[]): Bytes => {
  const all = joined(...content);
  return joined(name, number(all.length, 4, true), all, new Uint8Array(all.length % 2));
};

export const riff = (...chunks: Bytes[]): Bytes => {
  const all = joined("WEBP", ...chunks);
  return joined("RIFF", number(all.length, 4, true), all);
};

/** A picture of 48 × 32 with a colour profile and no other metadata. It has no symmetry that would hide a turn. */
export async function drawPhoto(kind: PhotoKind): Promise<Bytes> {
  const canvas = createCanvas(48, 32);
  const context = canvas.getContext("2d");
  context.fillStyle = `hsl(${crypto.getRandomValues(new Uint8Array(1))[0]}, 80%, 60%)`;
  context.fillRect(0, 0, 48, 32);
  context.fillStyle = "black";
  context.fillRect(4, 4, 16, 8);
  return withoutNames(
    new Uint8Array(kind === "png" ? await canvas.encode("png") : await canvas.encode(kind, 90)),
    kind,
  );
}

/** The same picture as a phone or an editor would leave it: with the place in every part of the format that can hold it. */
export function withLocation(kind: PhotoKind, image: Bytes, orientation: number, isLittle = false): Bytes {
  return ADD[kind](image, exif(orientation, isLittle));
}

const ADD: Record<PhotoKind, (image: Bytes, exif: Bytes) => Bytes> = {
  jpeg: (image, exif) =>
    joined(
      image.slice(0, 2),
      segment(0xe1, "Exif\0\0", exif),
      segment(0xe1, "http://ns.adobe.com/xap/1.0/\0", XMP),
      segment(0xe1, "http://ns.adobe.com/xmp/extension/\0", "0".repeat(32), number(XMP.length, 4), number(0, 4), XMP),
      segment(0xe2, "MPF\0", PLACE),
      segment(0xed, "Photoshop 3.0\0", "8BIM\x04\x04\0\0", number(PLACE.length + 5, 4), iptcCity(), "\0".repeat(2)),
      segment(0xeb, "JP\0\x01", PLACE),
      segment(0xfe, PLACE),
      image.slice(2),
      // The second image of a stereo or a moving photo, then its film.
      image.slice(0, 2),
      segment(0xe1, "Exif\0\0", exif),
      image.slice(2),
      number(24, 4),
      `ftypmp42${PLACE}`,
    ),
  png: (image, exif) =>
    joined(
      image.slice(0, 33),
      pngChunk("eXIf", exif),
      pngChunk("tEXt", `Comment\0${PLACE}`),
      pngChunk("iTXt", "XML:com.adobe.xmp\0\0\0\0\0", XMP),
      pngChunk("zTXt", "Raw profile type exif\0\0", new Uint8Array(deflateSync(joined("Exif\0\0", exif)))),
      pngChunk("tIME", number(2026, 2), new Uint8Array([11, 22, 10, 0, 0])),
      pngChunk("caBX", PLACE),
      image.slice(33),
      PLACE,
    ),
  webp: (image, exif) => {
    // Its first chunk is VP8X, because it has a profile: the flags say that it has Exif and XMP.
    const flagged = image.with(20, (image[20] ?? 0) | 0b1100);
    const chunks = [webpChunk("EXIF", exif), webpChunk("XMP ", XMP), webpChunk("C2PA", PLACE)];
    return joined(riff(flagged.slice(12), ...chunks), PLACE);
  },
};

const iptcCity = (): Bytes => joined("\x1c\x02", number(90, 1), number(PLACE.length, 2), PLACE);

/** What another reader finds in an image: where it was taken, and all its other metadata by name. */
export function readMetadata(bytes: Uint8Array) {
  const tags = ExifReader.load(bytes.slice().buffer, { expanded: true, includeUnknown: true });
  const { gps = null, exif = {}, icc, xmp, iptc, pngText } = tags;
  return {
    gps,
    orientation: exif.Orientation?.value ?? null,
    exif: Object.keys(exif),
    texts: [xmp, iptc, pngText].filter((group) => group !== undefined),
    profile: icc,
  };
}

/** What a decoder shows, upright where it heeds the orientation. */
export async function readPixels(bytes: Uint8Array) {
  const image = await loadImage(bytes);
  const context = createCanvas(image.width, image.height).getContext("2d");
  context.drawImage(image, 0, 0);
  return {
    width: image.width,
    height: image.height,
    data: Buffer.from(context.getImageData(0, 0, image.width, image.height).data).toString("hex"),
  };
}

/** The same picture without its colour profile: there is nothing that is to be removed or changed. */
export function withoutProfile(kind: PhotoKind, image: Bytes): Bytes {
  const found = Buffer.from(image).indexOf({ jpeg: "ICC_PROFILE", png: "iCCP", webp: "VP8 " }[kind]);
  if (kind === "webp")
    return riff(webpChunk("VP8X", Uint8Array.of(0, 0, 0, 0, 47, 0, 0, 31, 0, 0)), image.slice(found));
  if (found < 0) return image;
  const start = found - 4;
  const view = new DataView(image.buffer);
  const end = kind === "png" ? start + 12 + view.getUint32(start) : start + 2 + view.getUint16(start + 2);
  return joined(image.slice(0, start), image.slice(end));
}

const box = (type: string, ...content: (Bytes | string)[]): Bytes => {
  const all = joined(...content);
  return joined(number(all.length + 8, 4), type, all);
};
const superbox = (label: string, ...content: Bytes[]): Bytes => box("jumb", described(label), ...content);
const described = (label: string, ...more: Bytes[]): Bytes =>
  box("jumd", new Uint8Array(16), Uint8Array.of(more.length > 0 ? 0x13 : 3), `${label}\0`, ...more);

export const sourceType = (code: string): string => `http://cv.iptc.org/newscodes/digitalsourcetype/${code}`;

/** In CBOR the head of what follows can be a letter. */
const cborText = (text: string): string =>
  `${text.length < 24 ? "" : "x"}${String.fromCharCode(text.length < 24 ? 0x60 + text.length : text.length)}${text}`;

/** An assertion with more beside its content, or in its description, where the salt of its hash may stand. */
export const oddAssertions = (content: string): Record<"beside" | "described" | "salted", Bytes[]> => {
  const assertion = (...more: Bytes[]) =>
    box("jumb", described("c2pa.soft-binding", ...more), box("cbor", "a watermark"));
  return {
    beside: ["free", "xml ", "bidb", "uuid"].map((type) =>
      superbox("c2pa.ingredient", box("cbor"), box(type, content)),
    ),
    described: [joined(content), box("c2sh", content), joined(box("c2sh", new Uint8Array(16)), content)].map((more) =>
      assertion(more),
    ),
    salted: [16, 32].map((length) => assertion(box("c2sh", new Uint8Array(length)))),
  };
};

/** A C2PA manifest store as an image generator writes it, with this source type and these further assertions. */
export const manifestStore = (code: string, more: Record<string, string> = {}, ...odd: Bytes[]): Bytes =>
  superbox(
    "c2pa",
    superbox(
      "urn:c2pa:5f0c9c0e-6f0e-4c55-9b3c-0a9d9f5d3c11",
      superbox(
        "c2pa.assertions",
        superbox(
          "c2pa.actions.v2",
          box("cbor", "factionlc2pa.createdqdigitalSourceType", cborText(sourceType(code)), cborText("softwareAgent")),
        ),
        superbox("c2pa.hash.data", box("cbor", "hash")),
        ...Object.entries(more).map(([label, content]) => superbox(label, box("cbor", content))),
        ...odd,
      ),
      superbox("c2pa.claim.v2", box("cbor", "claim")),
      superbox("c2pa.signature", box("cbor", "signature")),
    ),
  );

/** An image with such a manifest; of a JPEG in parts of 300 bytes. */
export function withManifest(kind: PhotoKind, image: Bytes, store: Bytes): Bytes {
  if (kind === "png") return joined(image.slice(0, 33), pngChunk("caBX", store), image.slice(33));
  if (kind === "webp") return riff(image.slice(12), webpChunk("C2PA", store));
  const parts = Array.from({ length: Math.ceil(store.length / 300) }, (_, at) =>
    segment(
      0xeb,
      "JP",
      number(1, 2),
      number(at + 1, 4),
      at === 0 ? "" : store.slice(0, 8),
      store.slice(at * 300, at * 300 + 300),
    ),
  );
  return joined(image.slice(0, 2), ...parts, image.slice(2));
}

/** An image with an XMP packet in which these attributes are. */
export function withXmp(kind: PhotoKind, image: Bytes, attributes: string): Bytes {
  const xmp = XMP.replace(/ exif:.*\/>/, ` ${attributes}/>`);
  if (kind === "jpeg")
    return joined(image.slice(0, 2), segment(0xe1, "http://ns.adobe.com/xap/1.0/\0", xmp), image.slice(2));
  if (kind === "png")
    return joined(image.slice(0, 33), pngChunk("iTXt", "XML:com.adobe.xmp\0\0\0\0\0", xmp), image.slice(33));
  return riff(image.with(20, (image[20] ?? 0) | 0b100).slice(12), webpChunk("XMP ", xmp));
}

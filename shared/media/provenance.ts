import { Buffer } from "node:buffer";

const VOCABULARY = "cv.iptc.org/newscodes/digitalsourcetype/";
/** The size of the shortest term, whose code has three letters. */
export const MIN_SOURCE_TYPE_BYTES = VOCABULARY.length + 3;

/** The code of an IPTC DigitalSourceType in XMP or in a C2PA manifest, preferably one of AI; null if there is none. */
export function findSourceType(part: Uint8Array): string | null {
  const bytes = Buffer.from(part.buffer, part.byteOffset, part.byteLength);
  let found: string | null = null;
  for (let at = bytes.indexOf(VOCABULARY); at >= 0; at = bytes.indexOf(VOCABULARY, at + 1)) {
    const from = at + VOCABULARY.length;
    const code =
      /^[a-zA-Z]{3,60}/.exec(bytes.toString("latin1", from, cborTextEnd(bytes, at) ?? from + 60))?.[0] ?? null;
    if (code !== null && isByAi(code)) return code;
    found ??= code;
  }
  return found;
}

/** Matches a URI in CBOR: a text string (0x78, "x") whose length, 24 to 255, is its second byte. */
const CBOR_URI = /x(.)( ?https?:\/\/)$/s;

/** The end of the CBOR text string that contains the vocabulary at `at`; undefined outside CBOR. The next data item can begin with a letter. */
function cborTextEnd(bytes: Buffer, at: number): number | undefined {
  const [, length = "", scheme = ""] = CBOR_URI.exec(bytes.toString("latin1", at - 11, at)) ?? [];
  return length === "" ? undefined : at - scheme.length + length.charCodeAt(0);
}

const isByAi = (code: string | null): boolean => /algorithmic/i.test(code ?? "");

/** An XMP packet with this DigitalSourceType and nothing else. */
export const sourceTypeXmp = (code: string): string =>
  `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/" Iptc4xmpExt:DigitalSourceType="http://${VOCABULARY}${code}"/></rdf:RDF>`;

/** Labels of JUMBF boxes that state how an image was made, or sign it. Other assertions have thumbnails, locations, cameras or authors. */
const KNOWN_LABELS =
  /^(c2pa|urn:[\w:.-]{1,200}|c2pa\.(assertions|claim(\.v2)?|signature|actions(\.v2)?|hash\.(data|boxes)|soft-binding|ingredient(\.v\d)?))(__\d{1,4})?$/;
const [SUPERBOX, DESCRIPTION_BOX] = ["jumb", "jumd"];
/** The content boxes that are kept. Others can contain files, or anything. */
const CONTENT_BOXES = ["cbor", "json"];
/** A private box of a description box with 16 or 32 random bytes, the salt of its hash. */
const SALT_BOX = "c2sh";
/** The offset of the label in a description box, after the box header, the type (UUID) and the toggles. */
const LABEL_AT = 8 + 16 + 1;

/** Whether a C2PA manifest store (JUMBF, ISO/IEC 19566-5) states that AI made the image, and contains only boxes with known labels. */
export const isPlainManifest = (store: Buffer): boolean => isByAi(findSourceType(store)) && hasKnownLabels(store, 0);

function hasKnownLabels(boxes: Buffer, depth: number): boolean {
  for (let at = 0; at < boxes.length; ) {
    const size = at + 8 <= boxes.length ? boxes.readUInt32BE(at) : 0;
    if (size < 8 || at + size > boxes.length || depth > 5) return false;
    const box = boxes.subarray(at, at + size);
    if (box.toString("latin1", 4, 8) === SUPERBOX) {
      const inner = box.subarray(8);
      const descriptionEnd = inner.length < LABEL_AT ? 0 : inner.readUInt32BE(0);
      if (descriptionEnd < LABEL_AT || descriptionEnd > inner.length) return false;
      if (inner.toString("latin1", 4, 8) !== DESCRIPTION_BOX) return false;
      const label = inner.toString("latin1", LABEL_AT, inner.indexOf(0, LABEL_AT));
      const rest = inner.subarray(LABEL_AT + label.length + 1, descriptionEnd);
      if (!KNOWN_LABELS.test(label) || !isEmptyOrSalt(rest)) return false;
      if (!hasKnownLabels(inner.subarray(descriptionEnd), depth + 1)) return false;
    } else if (depth === 0 || !CONTENT_BOXES.includes(box.toString("latin1", 4, 8))) return false;
    at += size;
  }
  return true;
}

function isEmptyOrSalt(rest: Buffer): boolean {
  if (rest.length === 0) return true;
  const hasSaltLength = (rest.length === 24 || rest.length === 40) && rest.readUInt32BE(0) === rest.length;
  return hasSaltLength && rest.toString("latin1", 4, 8) === SALT_BOX;
}

import { Buffer } from "node:buffer";

const VOCABULARY = "cv.iptc.org/newscodes/digitalsourcetype/";
/** In bytes, with a code of three letters. */
export const MIN_SOURCE_TYPE_BYTES = VOCABULARY.length + 3;

/** A code of IPTC's DigitalSourceType in XMP or in a C2PA manifest, one of AI first; null: there is none. */
export function findSourceType(part: Uint8Array): string | null {
  const bytes = Buffer.from(part.buffer, part.byteOffset, part.byteLength);
  let found: string | null = null;
  for (let at = bytes.indexOf(VOCABULARY); at >= 0; at = bytes.indexOf(VOCABULARY, at + 1)) {
    const from = at + VOCABULARY.length;
    const code = /^[a-zA-Z]{3,60}/.exec(bytes.toString("latin1", from, textEnd(bytes, at) ?? from + 60))?.[0] ?? null;
    if (code !== null && isByAi(code)) return code;
    found ??= code;
  }
  return found;
}

/** An address in CBOR: a text of 24 to 255 bytes, whose length is its second byte. */
const CBOR_ADDRESS = /x(.)( ?https?:\/\/)$/s;

/** Where the address that has the vocabulary at `at` ends in CBOR; undefined elsewhere. What follows there can begin with a letter. */
function textEnd(bytes: Buffer, at: number): number | undefined {
  const [, length = "", scheme = ""] = CBOR_ADDRESS.exec(bytes.toString("latin1", at - 11, at)) ?? [];
  return length === "" ? undefined : at - scheme.length + length.charCodeAt(0);
}

const isByAi = (code: string | null): boolean => /algorithmic/i.test(code ?? "");

/** An XMP packet that says this and nothing else. */
export const sourceTypeXmp = (code: string): string =>
  `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/" Iptc4xmpExt:DigitalSourceType="http://${VOCABULARY}${code}"/></rdf:RDF>`;

/** What says how a picture was made, and is signed. Other assertions have thumbnails, positions, cameras or authors. */
const LABELS =
  /^(c2pa|urn:[\w:.-]{1,200}|c2pa\.(assertions|claim(\.v2)?|signature|actions(\.v2)?|hash\.(data|boxes)|soft-binding|ingredient(\.v\d)?))(__\d{1,4})?$/;
const [SUPERBOX, DESCRIPTION] = ["jumb", "jumd"];
/** The content of an assertion. Other boxes can have files in them, or anything. */
const CONTENTS = ["cbor", "json"];
/** A box in a description, which makes its hash another one: 16 or 32 random bytes. */
const SALT = "c2sh";
/** A description's type and toggles, before its label. */
const LABEL_AT = 8 + 16 + 1;

/** Whether a C2PA manifest store (ISO 19566-5, boxes of boxes with labels) says that AI made the picture, and has nothing of another kind. */
export const isPlainManifest = (store: Buffer): boolean => isByAi(findSourceType(store)) && hasKnownLabels(store, 0);

function hasKnownLabels(boxes: Buffer, depth: number): boolean {
  for (let at = 0; at < boxes.length; ) {
    const size = at + 8 <= boxes.length ? boxes.readUInt32BE(at) : 0;
    if (size < 8 || at + size > boxes.length || depth > 5) return false;
    const box = boxes.subarray(at, at + size);
    if (box.toString("latin1", 4, 8) === SUPERBOX) {
      const inner = box.subarray(8);
      const described = inner.length < LABEL_AT ? 0 : inner.readUInt32BE(0);
      if (described < LABEL_AT || described > inner.length || inner.toString("latin1", 4, 8) !== DESCRIPTION)
        return false;
      const label = inner.toString("latin1", LABEL_AT, inner.indexOf(0, LABEL_AT));
      const rest = inner.subarray(LABEL_AT + label.length + 1, described);
      if (!LABELS.test(label) || !isSaltOrNothing(rest)) return false;
      if (!hasKnownLabels(inner.subarray(described), depth + 1)) return false;
    } else if (depth === 0 || !CONTENTS.includes(box.toString("latin1", 4, 8))) return false;
    at += size;
  }
  return true;
}

function isSaltOrNothing(rest: Buffer): boolean {
  if (rest.length === 0) return true;
  const isOfItsLength = (rest.length === 24 || rest.length === 40) && rest.readUInt32BE(0) === rest.length;
  return isOfItsLength && rest.toString("latin1", 4, 8) === SALT;
}

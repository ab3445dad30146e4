import type { ShotFile } from "./shots.ts";

/** The box of an MP4 in which XMP stands (ISO 16684-3). */
const XMP_BOX = [0xbe, 0x7a, 0xcf, 0xcb, 0x97, 0xa9, 0x42, 0xe8, 0x9c, 0x71, 0x99, 0x94, 0x91, 0xe3, 0xaf, 0xac];
const NAMESPACES = {
  rdf: "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
  Iptc4xmpExt: "http://iptc.org/std/Iptc4xmpExt/2008-02-29/",
  xmpMM: "http://ns.adobe.com/xap/1.0/mm/",
  stRef: "http://ns.adobe.com/xap/1.0/sType/ResourceRef#",
};
const SOURCE_TYPE = "http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia";

/** The end of an MP4. It says that AI made the film, and has the SHA-256 of each shot in order. */
export function originBox(shots: ShotFile[]): Uint8Array<ArrayBuffer> {
  const names = Object.entries(NAMESPACES).map(([prefix, name]) => ` xmlns:${prefix}="${name}"`);
  const sources = shots.map(({ output }) => `<rdf:li stRef:instanceID="sha256:${output.sha256}"/>`);
  const xmp = `<rdf:RDF${names.join("")}><rdf:Description rdf:about="" Iptc4xmpExt:DigitalSourceType="${SOURCE_TYPE}"><xmpMM:Ingredients><rdf:Bag>${sources.join("")}</rdf:Bag></xmpMM:Ingredients></rdf:Description></rdf:RDF>`;
  const content = new TextEncoder().encode(xmp);
  const box = new Uint8Array(24 + content.length);
  new DataView(box.buffer).setUint32(0, box.length);
  box.set(new TextEncoder().encode("uuid"), 4);
  box.set(XMP_BOX, 8);
  box.set(content, 24);
  return box;
}

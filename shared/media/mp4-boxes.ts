import { UnusableMedia } from "./media.ts";

export type Box = { type: string; content: DataView };

/** The boxes of ISO/IEC 14496-12 in a piece of memory, in order. Throws UnusableMedia when one does not fit into it. */
export function readBoxes(view: DataView): Box[] {
  const boxes: Box[] = [];
  let offset = 0;
  while (offset + 8 <= view.byteLength) {
    const { type, headerBytes, size } = readBoxHeader(new DataView(view.buffer, view.byteOffset + offset));
    const end = size === null ? view.byteLength : offset + size;
    if (end > view.byteLength) throw new UnusableMedia(`The video's box ${type} does not fit into the one around it.`);
    boxes.push({
      type,
      content: new DataView(view.buffer, view.byteOffset + offset + headerBytes, end - offset - headerBytes),
    });
    offset = end;
  }
  return boxes;
}

/** `size` counts the header too; null means up to the end of the file. Needs 8 bytes, 16 when {@link isLarge}. */
export function readBoxHeader(view: DataView): { type: string; headerBytes: number; size: number | null } {
  const type = String.fromCharCode(view.getUint8(4), view.getUint8(5), view.getUint8(6), view.getUint8(7));
  const headerBytes = isLarge(view) ? 16 : 8;
  const size = isLarge(view) ? Number(view.getBigUint64(8)) : view.getUint32(0) || null;
  if (size !== null && size < headerBytes) throw new UnusableMedia("The video has a box smaller than its own header.");
  return { type, headerBytes, size };
}

/** A size of 1 says that the real one, of 64 bits, follows the type. */
export function isLarge(view: DataView): boolean {
  return view.getUint32(0) === 1;
}

/** The part of a file that may still be read. */
export type Budget = { boxes: number };

export type Box = { type: string; content: DataView };

export const find = (boxes: Box[], type: string): DataView | null =>
  boxes.find((one) => one.type === type)?.content ?? null;

/** Empty when the view ends before it. */
export const part = (view: DataView, from: number): DataView => {
  const start = Math.min(from, view.byteLength);
  return new DataView(view.buffer, view.byteOffset + start, view.byteLength - start);
};

/**
 * The boxes of ISO/IEC 14496-12 in order, as players read them: a box that exceeds the view ends with it, and anything that is not a box
 * ends the list.
 */
export function readBoxes(view: DataView | null, budget: Budget): Box[] {
  const boxes: Box[] = [];
  for (let offset = 0; view && offset + 8 <= view.byteLength && budget.boxes > 0; budget.boxes--) {
    const rest = part(view, offset);
    const box = isLarge(rest) && rest.byteLength < 16 ? null : readBoxHeader(rest);
    if (box === null) break;
    const bytes = Math.min(box.size ?? rest.byteLength, rest.byteLength);
    const content = new DataView(rest.buffer, rest.byteOffset + box.headerBytes, bytes - box.headerBytes);
    boxes.push({ type: box.type, content });
    offset += bytes;
  }
  return boxes;
}

/** `size` counts the header too; null means up to the end of the file. Needs 8 bytes, 16 when {@link isLarge}. Null: no box is so small. */
export function readBoxHeader(view: DataView): { type: string; headerBytes: number; size: number | null } | null {
  const type = String.fromCharCode(view.getUint8(4), view.getUint8(5), view.getUint8(6), view.getUint8(7));
  const headerBytes = isLarge(view) ? 16 : 8;
  const size = isLarge(view) ? Number(view.getBigUint64(8)) : view.getUint32(0) || null;
  return size !== null && size < headerBytes ? null : { type, headerBytes, size };
}

/** A size of 1 means that the real size, in 64 bits, follows the type. */
export function isLarge(view: DataView): boolean {
  return view.getUint32(0) === 1;
}

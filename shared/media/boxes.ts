/** How many more boxes of a file may be read. */
export type Budget = { boxes: number };

/** `content` has no header. The content of a FullBox begins with version and flags. */
export type Box = { type: string; content: DataView };

export const findBox = (boxes: Box[], type: string): DataView | null =>
  boxes.find((box) => box.type === type)?.content ?? null;

/** The view from this offset on. Empty if the view ends before it. */
export const viewFrom = (view: DataView, offset: number): DataView => {
  const start = Math.min(offset, view.byteLength);
  return new DataView(view.buffer, view.byteOffset + start, view.byteLength - start);
};

/**
 * The boxes (ISO/IEC 14496-12, clause 4) in order, as players read them: a box that exceeds its container ends with it, and anything that
 * is not a box ends the list.
 */
export function readBoxes(container: DataView | null, budget: Budget): Box[] {
  const boxes: Box[] = [];
  for (let offset = 0; container && offset + 8 <= container.byteLength && budget.boxes > 0; budget.boxes--) {
    const rest = viewFrom(container, offset);
    const header = hasLargeSize(rest) && rest.byteLength < 16 ? null : readBoxHeader(rest);
    if (header === null) break;
    const size = Math.min(header.size ?? rest.byteLength, rest.byteLength);
    const content = new DataView(rest.buffer, rest.byteOffset + header.headerBytes, size - header.headerBytes);
    boxes.push({ type: header.type, content });
    offset += size;
  }
  return boxes;
}

/**
 * `size` includes the header; null means to the end of the file. The view needs 8 bytes, 16 when {@link hasLargeSize}. Returns null if the
 * size is smaller than the header.
 */
export function readBoxHeader(view: DataView): { type: string; headerBytes: number; size: number | null } | null {
  const type = String.fromCharCode(view.getUint8(4), view.getUint8(5), view.getUint8(6), view.getUint8(7));
  const headerBytes = hasLargeSize(view) ? 16 : 8;
  const size = hasLargeSize(view) ? Number(view.getBigUint64(8)) : view.getUint32(0) || null;
  return size !== null && size < headerBytes ? null : { type, headerBytes, size };
}

/** A size of 1 means that a 64-bit `largesize` follows the type. */
export function hasLargeSize(view: DataView): boolean {
  return view.getUint32(0) === 1;
}

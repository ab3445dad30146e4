/** Files whose headers go on to their end: what a reader keeps of them is bounded. The kinds that take most memory. */
const letters = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
const number = (value: number) => new Uint8Array(new Uint32Array([value]).buffer).reverse();
const join = (...parts: Uint8Array[]) => Uint8Array.from(parts.flatMap((part) => [...part]));
const box = (type: string, ...content: Uint8Array[]) => {
  const inside = join(...content);
  return join(number(8 + inside.length), letters(type), inside);
};

const handler = box("hdlr", new Uint8Array(8), letters("vide"), new Uint8Array(12));
const track = box("trak", box("tkhd", new Uint8Array(84)), box("mdia", handler));
const movie = (bytes: number) => join(box("ftyp", letters("isom"), number(0)), number(bytes), letters("moov"));
const chunk = (type: string) => join(number(0), letters(type), number(0));
const pngSize = join(number(64), number(36), new Uint8Array([8, 2, 0, 0, 0]), number(0));
const png = join(letters("\x89PNG\r\n\x1a\n"), number(13), letters("IHDR"), pngSize);
const jpegSegment = join(new Uint8Array([0xff, 0xe2, 0, 18]), new Uint8Array(16));

const KINDS: [name: string, head: (bytes: number) => Uint8Array, repeated: Uint8Array][] = [
  ["tracks.mp4", movie, track],
  ["segments.jpg", () => new Uint8Array([0xff, 0xd8, 0xff, 0xe2, 0, 2]), jpegSegment],
  ["boxes.avif", () => box("ftyp", letters("avif"), number(0)), box("free")],
  ["chunks.png", () => png, chunk("tEXt")],
];

export const hostileNames: string[] = KINDS.map(([name]) => name);

/** A stream of this many bytes. */
export function hostileFile(name: string, bytes: number): Uint8Array<ArrayBuffer> {
  const [, headOf = () => new Uint8Array(), repeated = new Uint8Array(1)] = KINDS.find(([one]) => one === name) ?? [];
  const file = new Uint8Array(bytes);
  file.set(headOf(bytes));
  for (let at = headOf(bytes).length; at + repeated.length <= bytes; at += repeated.length) file.set(repeated, at);
  return file;
}

const CHUNK_BYTES = 256 * 1024;

/** The beginning of an MP4, whose media data do not end. */
export function endlessVideo(): ReadableStream<Uint8Array> {
  let chunk = new Uint8Array(CHUNK_BYTES);
  chunk.set(join(box("ftyp", letters("isom"), number(0), letters("isommp42")), number(0xffffffff), letters("mdat")));
  return new ReadableStream({
    pull(controller) {
      controller.enqueue(chunk);
      chunk = new Uint8Array(CHUNK_BYTES);
    },
  });
}

/**
 * 64 bits that tell one text from another, in hex: FNV-1a in two lanes. Nobody gains by a collision, so it need not withstand
 * one that is sought; crypto.subtle would hand each text to another thread, which took a quarter of a status read's time.
 */
export function digestText(text: string): string {
  let one = 0x811c9dc5;
  let other = 0x9747b28c;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    one = Math.imul(one ^ unit, 0x01000193);
    other = Math.imul(other ^ unit, 0x85ebca6b);
  }
  return hex(one) + hex(other);
}

const hex = (bits: number) => (bits >>> 0).toString(16).padStart(8, "0");

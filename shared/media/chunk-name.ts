/** The four letters that name a chunk of PNG or WebP, as the number that they are in its bytes. */
export function chunkName(letters: string): number {
  return [...letters].reduce((name, letter) => name * 256 + letter.charCodeAt(0), 0);
}

/** Returns lower-case hex. */
export async function sha256(content: string | Uint8Array): Promise<string> {
  // No caller passes a SharedArrayBuffer, which the type would allow.
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : (content as Uint8Array<ArrayBuffer>);
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  // Hosted functions run on Deno 2.1, which lacks Uint8Array.toHex.
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Lower-case hex. */
export async function sha256(bytes: Uint8Array): Promise<string> {
  // The buffers made in this function are ArrayBuffers, never shared ones, which the type cannot tell.
  const digest = await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>);
  // Uint8Array.toHex is newer than the runtime of hosted functions.
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

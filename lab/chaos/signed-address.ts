/** Until when a signed address of Storage works, as its own token says (ISO 8601). Throws when it has none. */
export function endOfAddress(url: string): string {
  const payload = new URL(url).searchParams.get("token")?.split(".")[1] ?? "";
  const { exp } = JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(payload, { alphabet: "base64url" })));
  return new Date(exp * 1000).toISOString();
}

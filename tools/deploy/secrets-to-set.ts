/** The names of the wanted secrets that a project lacks or has with another value. */
export async function secretsToSet(wanted: Record<string, string>, digests: Map<string, string>): Promise<string[]> {
  const names: string[] = [];
  for (const [name, value] of Object.entries(wanted)) {
    if (digests.get(name)?.toLowerCase() !== (await sha256Hex(value))) names.push(name);
  }
  return names;
}

/** How the platform lists a secret, which it never tells again. */
export async function sha256Hex(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(digest).toHex();
}

import { join } from "node:path";
import { loadStackKeys } from "../stack/stack-keys.ts";
import type { StackOptions } from "../stack/stack-types.ts";

/** The stack that already serves on this port with these data, if one does. */
export async function findStack({
  dataDir,
  port,
}: StackOptions): Promise<{ url: string; publishableKey: string } | null> {
  const known = await Deno.stat(join(dataDir, "keys.json")).catch(() => undefined);
  if (!known) return null;
  const { publishableKey } = await loadStackKeys(dataDir);
  const url = `http://127.0.0.1:${port}`;
  const healthy = await fetch(`${url}/functions/v1/api/health`, { signal: AbortSignal.timeout(3000) }).then(
    (response) => response.ok,
    () => false,
  );
  return healthy ? { url, publishableKey } : null;
}

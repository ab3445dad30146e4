import { waitForPort } from "../../local/network.ts";
import { insist, type World } from "./world.ts";

const PATIENCE_MS = 30_000;

/**
 * Restarts those whom the functions talk to. Connections that were kept for reuse end with that at once, where waiting for it takes
 * three minutes; what has been forgotten with an answer in it stays. The provider forgets its runs, so they must have been read.
 */
export async function hangUp({ stack }: Pick<World, "stack">): Promise<void> {
  for (const name of ["gateway", "simulator"]) {
    const child = stack.children.get(name);
    const former = child?.pid;
    child?.kill("SIGTERM");
    await insist(async () => {
      const { pid } = stack.children.get(name) ?? {};
      if (pid === undefined || pid === former) throw new Error(`${name} is not back.`);
    });
  }
  const ports = [stack.url, stack.simulator?.url ?? stack.url].map((url) => Number(new URL(url).port));
  for (const port of ports) await waitForPort(port, AbortSignal.timeout(PATIENCE_MS));
}

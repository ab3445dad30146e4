const LOOK_EVERY_MS = 20;

/** Waits until something accepts connections on 127.0.0.1:port. Whoever calls bounds the wait. */
export async function waitForPort(port: number, signal?: AbortSignal): Promise<void> {
  while (!signal?.aborted) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }
}

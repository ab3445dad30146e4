const LOOK_EVERY_MS = 20;

/** Waits until something accepts connections on 127.0.0.1:port, or until `givenUp` is aborted. */
export async function waitForPort(port: number, givenUp: AbortSignal): Promise<void> {
  while (!givenUp.aborted) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }
  throw new Error(`nothing serves on port ${port}`);
}

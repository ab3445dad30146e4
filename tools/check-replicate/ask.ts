/** Standard output and input, or what stands for them. `read` resolves with null at the end of the input, as Deno's does. */
export type Terminal = { write(text: string): void; read(buffer: Uint8Array): Promise<number | null> };

/**
 * Asks, and resolves with true for y or yes alone. Rejects with the signal's reason: Deno's own `confirm` would hold a Ctrl-C
 * back until somebody presses Enter.
 */
export async function ask(question: string, terminal: Terminal, signal: AbortSignal): Promise<boolean> {
  const stopped = new Promise<never>((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
  );
  stopped.catch(() => undefined); // it may well come after the answer
  signal.throwIfAborted();
  terminal.write(`${question} [y/N] `);
  const buffer = new Uint8Array(1024);
  const length = await Promise.race([terminal.read(buffer), stopped]);
  const answer = new TextDecoder().decode(buffer.subarray(0, length ?? 0));
  return /^y(es)?$/i.test(answer.trim());
}

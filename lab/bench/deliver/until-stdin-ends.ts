/** Resolves when whoever started this process closes its standard input, or dies. */
export async function untilStdinEnds(): Promise<void> {
  for await (const _chunk of Deno.stdin.readable);
}

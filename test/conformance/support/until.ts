/** Asks again every 10 ms until the answer is neither undefined, null nor false, and returns it. */
export async function until<T>(
  what: string,
  ask: () => T | Promise<T>,
  limitMs = 15_000,
): Promise<Exclude<T, undefined | null | false>> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const answer = await ask();
    // What is left after the three are ruled out; TypeScript cannot narrow an unresolved T.
    if (answer !== undefined && answer !== null && answer !== false)
      return answer as Exclude<T, undefined | null | false>;
    if (Date.now() > deadline) throw new Error(`did not happen within ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

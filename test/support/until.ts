const MAX_PAUSE_MS = 200;

/**
 * Asks again and again until the answer is neither undefined, null nor false, and returns it.
 * Throws with `what` when it has not come within `limitMs`.
 * Pauses grow unless `everyMs` is given: what is asked mostly takes a stack's processor.
 */
export async function until<T>(
  what: string,
  ask: () => T | Promise<T>,
  limitMs = 60_000,
  everyMs?: number,
): Promise<Exclude<T, undefined | null | false>> {
  const end = performance.now() + limitMs;
  for (let pause = everyMs ?? 30; ; pause = everyMs ?? Math.min(pause * 1.2, MAX_PAUSE_MS)) {
    const answer = await ask();
    // What is left after the three are ruled out; TypeScript cannot narrow an unresolved T.
    if (answer !== undefined && answer !== null && answer !== false)
      return answer as Exclude<T, undefined | null | false>;
    if (performance.now() > end) throw new Error(`Waited ${limitMs} ms without success for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

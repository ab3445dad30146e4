const LOOK_EVERY_MS = 25;

/** Asks until there is an answer other than undefined, and returns it. Throws after `withinMs`. */
export async function until<T>(what: string, ask: () => Promise<T | undefined>, withinMs = 20_000): Promise<T> {
  const patience = performance.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > patience) throw new Error(`Waited ${withinMs} ms in vain for ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

const LOOK_EVERY_MS = 40;

/** Looks until there is something (not null, undefined or false) and returns it. Throws with `what` when the time is up. */
export async function until<Found>(
  what: string,
  look: () => Promise<Found | null | undefined | false>,
  seconds = 15,
): Promise<Found> {
  const end = performance.now() + seconds * 1000;
  for (;;) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`Waited ${seconds} s in vain until ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

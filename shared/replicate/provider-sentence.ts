const MOST = 300;

/**
 * What the provider said, fit for a row that its owner reads: one line of at most 300 characters without addresses
 * (they may carry tokens) and without inline data. Empty when it said nothing readable.
 */
export function providerSentence(said: unknown): string {
  if (said === null || said === undefined) return "";
  const text = typeof said === "string" ? said : JSON.stringify(said);
  const line = text
    .slice(0, 10_000)
    .replace(/\b(?:https?|data):\S+/gi, "[address]")
    .replace(/[\s\p{Cc}]+/gu, " ")
    .toWellFormed()
    .trim();
  const characters = [...line];
  return characters.length <= MOST ? line : `${characters.slice(0, MOST - 1).join("")}…`;
}

/** How to ask a person, when one is there. */
export type Person = { isAtTerminal(): boolean; agrees(question: string): Promise<boolean> };

/**
 * How the question whether money may be spent will be answered: `--yes` answers it beforehand, else the person at the terminal
 * does. Throws at once when there is neither: silence is no consent.
 */
export function maySpend(yes: boolean, person: Person): (model: string) => Promise<boolean> {
  if (yes) return () => Promise.resolve(true);
  if (!person.isAtTerminal()) {
    throw new Error(
      "This costs money, and there is no terminal to ask at: add --yes (npm run check:replicate -- --yes).",
    );
  }
  return (model) => person.agrees(`Run ${model} once on Replicate, at your account's expense?`);
}

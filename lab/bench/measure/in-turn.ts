/** Ways of doing the same work, by name. Each does it once and returns its measurement. */
export type Ways<Name extends string> = Record<Name, () => Promise<number>>;

/**
 * Measures each way so many times, in turn, so that what else the machine does meets all of them alike. Every other round
 * goes backwards. Returns each way's measurements in the order of the rounds.
 */
export async function measureInTurn<Name extends string>(
  ways: Ways<Name>,
  rounds: number,
  progress: (text: string) => void,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(ways) as Name[]; // its keys are all there is in it
  const measured = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>; // each name
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      progress(`round ${round + 1} of ${rounds}: ${name}`);
      measured[name].push(await ways[name]());
    }
  }
  return measured;
}

const turns = new Map<string, Promise<unknown>>();

/**
 * Runs `work` when all work of this name that was asked for earlier is over. Uploads of one object take turns, as they do
 * in the hosted Storage: lite would let two of them pass its look for a file that is there, and answer 500 to the second.
 */
export async function inTurn<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const before = turns.get(name) ?? Promise.resolve();
  const mine = before.then(work, work);
  turns.set(name, mine);
  try {
    return await mine;
  } finally {
    if (turns.get(name) === mine) turns.delete(name);
  }
}

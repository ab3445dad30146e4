import { isUnanswered, untilAnswered } from "./users.ts";
import type { Credit, User, World } from "./world.ts";

/** A server's actions on the balance of a prepaid user. An unanswered credit is repeated by settleCredits. */
export function balanceActions(user: User, { ledger }: World) {
  const { random, server } = user;
  const add = async (kind: Credit["kind"], micros: number) => {
    if (server === null) return;
    const credit = { key: `${kind}-${crypto.randomUUID()}`, kind, amountMicros: micros };
    const entry: Credit = {
      key: credit.key,
      kind,
      micros,
      owner_id: user.userId,
      is_answered: false,
      send: async () => {
        await server.addCredit(credit);
        entry.is_answered = true;
      },
    };
    ledger.credits.push(entry);
    // A payment provider repeats its events, also at the same moment.
    const again = random.chance(0.3) ? entry.send().catch(() => undefined) : undefined;
    try {
      await entry.send();
    } finally {
      await again;
    }
  };
  return {
    purchase: () => add("purchase", random.whole(1, 20) * 100_000),
    /** Also of more than is left. */
    refund: () => add("refund", -random.whole(1, 8) * 100_000),
  };
}

/** Repeats every unanswered credit with its key, and takes back something of each deleted user: a dispute. */
export async function settleCredits(world: World): Promise<number> {
  for (const user of world.users.filter(({ isDeleted }) => isDeleted))
    await balanceActions(user, world)
      .refund()
      .catch((error) => {
        if (!isUnanswered(error)) throw error;
      });
  const open = world.ledger.credits.filter(({ is_answered }) => !is_answered);
  for (const credit of open) await untilAnswered(credit.send);
  return open.length;
}

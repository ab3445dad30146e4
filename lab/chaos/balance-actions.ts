import { KeyframeError } from "../../client/index.ts";
import { isUnanswered } from "./users.ts";
import type { Credit, Ledger, User, World } from "./world.ts";

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

const TRIES = 5;

/** Repeats every unanswered credit with its key, and takes back something of each deleted user: a dispute. */
export async function settleCredits(world: World): Promise<number> {
  for (const user of world.users.filter(({ isDeleted }) => isDeleted))
    await balanceActions(user, world).refund().catch(refused);
  const open = world.ledger.credits.filter(({ is_answered }) => !is_answered);
  for (const credit of open) await settle(credit);
  return open.length;
}

async function settle(credit: Ledger["credits"][number]): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await credit.send();
    } catch (error) {
      if (!isUnanswered(error) || tries === TRIES) throw error;
    }
  }
}

const refused = (error: unknown) => {
  if (error instanceof KeyframeError && !isUnanswered(error)) throw error;
};

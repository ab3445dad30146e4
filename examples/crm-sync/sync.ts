import type { Change, Crm } from "./crm.ts";
import type { Store } from "./store.ts";

/** `saved`: the CRM has it now. `repeated`: it had it before. `overtaken`: a later event about the same has been saved already. */
export type Outcome = "saved" | "repeated" | "overtaken";

/**
 * Brings an event into the CRM, once, in any order:
 * - an event that is done is not done again;
 * - the claim is recorded before the CRM is called, so that an older event cannot overwrite a newer one, not even after a crash;
 * - done is noted after, so that a crash in between lets the event come again, and telling the CRM twice changes nothing.
 *
 * Events of one owner take turns: two at once would both find no contact. Throws what the CRM throws.
 */
export function createSync({ store, crm, now }: { store: Store; crm: Crm; now(): Date }) {
  const turns = new Map<string, Promise<unknown>>();

  async function sync(webhookId: string, change: Change, signal: AbortSignal): Promise<Outcome> {
    signal.throwIfAborted();
    if (store.isDone(webhookId)) return "repeated";
    const isLatest = store.claim(webhookId, change);
    if (isLatest) await crm.save(change, webhookId, signal);
    store.markDone(webhookId, now());
    return isLatest ? "saved" : "overtaken";
  }

  return async (webhookId: string, change: Change, signal: AbortSignal): Promise<Outcome> => {
    const before = turns.get(change.ownerId) ?? Promise.resolve();
    const next = () => sync(webhookId, change, signal);
    const mine = before.then(next, next);
    turns.set(change.ownerId, mine);
    try {
      return await mine;
    } finally {
      if (turns.get(change.ownerId) === mine) turns.delete(change.ownerId);
    }
  };
}

export type Sync = ReturnType<typeof createSync>;

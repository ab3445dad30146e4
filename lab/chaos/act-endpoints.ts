import type { Listener, User } from "./user.ts";
import { insist, type World } from "./world.ts";

/** What a user does with their webhook endpoints. The steady ones are only tested, redelivered to and recovered. */
export function endpointActions(user: User, world: World) {
  const { client, dice } = user;
  const changing = () => {
    const found = user.listeners.filter(({ steady }) => !steady);
    return found.length === 0 ? undefined : dice.pick(found);
  };
  const any = () => (user.listeners.length === 0 ? undefined : dice.pick(user.listeners));
  const on = (which: Listener | undefined, work: (listener: Listener) => Promise<unknown>) => async () => {
    if (which) await work(which);
  };
  return {
    changeEndpoint: on(changing(), ({ slot, webhookId }) => {
      world.ledger.resubscribed.add(slot);
      return client.webhooks.change(webhookId, {
        url: world.receivers.urlOf(slot, dice.whole(2, 99)),
        eventTypes: dice.pick([[], [], ["generation.failed"], ["generation.succeeded", "project.created"]]),
      });
    }),
    switchEndpoint: on(changing(), async (listener) => {
      // Off for one turn in three, and on again in the others, also after a receiver has said that it is gone.
      listener.enabled = !dice.chance(0.33);
      await client.webhooks.change(listener.webhookId, { enabled: listener.enabled });
    }),
    rotate: on(any(), async ({ slot, webhookId }) => {
      await learnSecrets(world, slot);
      try {
        await client.webhooks.rotate(webhookId, { overlapHours: dice.pick([0, 0, 1]) });
      } finally {
        await learnSecrets(world, slot);
      }
    }),
    test: on(any(), ({ webhookId }) => client.webhooks.test(webhookId)),
    redeliver: on(any(), async ({ webhookId }) => {
      const { deliveries } = await client.webhooks.deliveries(webhookId, { limit: 10 });
      if (deliveries.length > 0) await client.webhooks.redeliver(dice.pick(deliveries).deliveryId);
    }),
    recover: on(any(), ({ webhookId }) =>
      client.webhooks.recover(webhookId, { since: new Date(Date.now() - 60_000).toISOString() }),
    ),
    replaceEndpoint: on(changing(), async (listener) => {
      await client.webhooks.delete(listener.webhookId);
      user.listeners = user.listeners.filter((one) => one !== listener);
      await addListener(user, world, "late");
    }),
  };
}

/**
 * Registers an endpoint of a user: one that nobody changes, one that may change, or one that is made while the load is on (of events
 * at that moment, or while times are shifted, nobody can say afterwards whether it was owed them).
 */
export async function addListener(user: User, world: World, kind: "steady" | "moody" | "late"): Promise<void> {
  const slot = `${kind}-${user.userId.slice(0, 8)}-${user.dice.mark()}`;
  const url = world.receivers.urlOf(slot);
  const { webhookId, secret } = await user.client.webhooks.create({ url });
  world.receivers.know(slot, [secret]);
  user.listeners.push({ slot, webhookId, steady: kind === "steady", enabled: true });
}

/** Has the receivers know every secret that signs for a slot now. */
export async function learnSecrets({ sql, receivers }: World, slot: string): Promise<void> {
  const rows = await insist(
    () => sql<{ secrets: string[] }[]>`
      select to_jsonb(keyframe_private.webhook_secrets_of(e.id)) as secrets from keyframe.webhook_endpoints e
      where e.url like ${`%/hooks/${slot}?%`}`,
  );
  for (const { secrets } of rows) receivers.know(slot, secrets);
}

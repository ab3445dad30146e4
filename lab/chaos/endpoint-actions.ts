import { retryUntilDone, type Endpoint, type User, type World } from "./world.ts";

/** A user's actions on webhook endpoints. Steady endpoints are never changed, switched or replaced. */
export function endpointActions(user: User, world: World) {
  const { client, random } = user;
  const changing = () => {
    const found = user.endpoints.filter(({ steady }) => !steady);
    return found.length === 0 ? undefined : random.pick(found);
  };
  const any = () => (user.endpoints.length === 0 ? undefined : random.pick(user.endpoints));
  const on = (which: Endpoint | undefined, work: (endpoint: Endpoint) => Promise<unknown>) => async () => {
    if (which) await work(which);
  };
  return {
    changeEndpoint: on(changing(), ({ hook, webhookId }) => {
      world.ledger.resubscribed.push({ hook });
      return client.webhooks.change(webhookId, {
        url: world.receivers.urlOf(hook, random.whole(2, 99)),
        eventTypes: random.pick([[], [], ["generation.failed"], ["generation.succeeded", "project.created"]]),
      });
    }),
    // One in three is disabled; the others are enabled, also after an answer of 410.
    switchEndpoint: on(changing(), ({ webhookId }) =>
      client.webhooks.change(webhookId, { enabled: !random.chance(0.33) }),
    ),
    rotate: on(any(), async ({ hook, webhookId }) => {
      await learnSecrets(world, hook);
      try {
        await client.webhooks.rotate(webhookId, { overlapHours: random.pick([0, 0, 1]) });
      } finally {
        await learnSecrets(world, hook);
      }
    }),
    test: on(any(), ({ webhookId }) => client.webhooks.test(webhookId)),
    redeliver: on(any(), async ({ webhookId }) => {
      const { deliveries } = await client.webhooks.deliveries(webhookId, { limit: 10 });
      if (deliveries.length > 0) await client.webhooks.redeliver(random.pick(deliveries).deliveryId);
    }),
    recover: on(any(), ({ webhookId }) =>
      client.webhooks.recover(webhookId, { since: new Date(Date.now() - 60_000).toISOString() }),
    ),
    replaceEndpoint: on(changing(), async (endpoint) => {
      await client.webhooks.delete(endpoint.webhookId);
      user.endpoints = user.endpoints.filter((one) => one !== endpoint);
      await addEndpoint(user, world, "late");
    }),
  };
}

/**
 * Registers an endpoint: steady, changing, or late (created during the load). Whether a late endpoint should get an
 * event of that moment cannot be decided afterwards.
 */
export async function addEndpoint(user: User, world: World, kind: "steady" | "changing" | "late"): Promise<void> {
  const hook = `${kind}-${user.userId.slice(0, 8)}-${crypto.randomUUID()}`;
  const url = world.receivers.urlOf(hook);
  const { webhookId, secret } = await user.client.webhooks.create({ url });
  world.receivers.know(hook, [secret]);
  user.endpoints.push({ hook, webhookId, steady: kind === "steady" });
}

/** Gives the receivers every secret that signs for a hook now. */
export async function learnSecrets({ sql, receivers }: World, hook: string): Promise<void> {
  const rows = await retryUntilDone(
    () => sql<{ secrets: string[] }[]>`
      select to_jsonb(keyframe_private.webhook_secrets_of(e.id)) as secrets from keyframe.webhook_endpoints e
      where e.url like ${`%/hooks/${hook}?%`}`,
  );
  for (const { secrets } of rows) receivers.know(hook, secrets);
}

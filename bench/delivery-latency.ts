import type postgres from "postgres";

const LOOK_EVERY_MS = 20;

/** ms from sending an insert (its commit included) until the event is at the receiver, one at a time. */
export type DeliveryLatency = { idle: number[]; lingering: number[] };

/**
 * Idle: each time after the drain has stopped looking, so Postgres has to wake deliver first. Lingering: at random moments
 * of the two seconds in which it looks every 100 ms.
 */
export async function measureDeliveryLatency(
  sql: postgres.Sql,
  idleTimes: number,
  lingeringTimes: number,
): Promise<DeliveryLatency> {
  const arrived = new Map<string, (at: number) => void>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, async (request) => {
    const at = performance.now();
    const { data }: { data: { projectId: string } } = await request.json();
    arrived.get(data.projectId)?.(at);
    return new Response(null, { status: 204 });
  });
  const [user] = await sql<{ id: string }[]>`
    insert into auth.users (id, email) values (gen_random_uuid(), gen_random_uuid() || '@keyframe.local') returning id`;
  const owner = user?.id ?? "";
  await sql`insert into public.webhook_endpoints (owner_id, url) values (${owner}, ${`http://127.0.0.1:${server.addr.port}/`})`;

  const sendOne = async () => {
    const id = crypto.randomUUID();
    const arrival = new Promise<number>((resolve) => arrived.set(id, resolve));
    const start = performance.now();
    await sql`
      insert into public.projects (id, owner_id, title, text_prompt) values (${id}, ${owner}, 'One', ${"A harbour at dawn. ".repeat(36)})`;
    return (await arrival) - start;
  };
  const untilNobodyLooks = async () => {
    while ((await sql`select from private.lookouts where looking_until > now()`).length > 0) await pause(LOOK_EVERY_MS);
  };

  await sendOne();
  const idle: number[] = [];
  for (let turn = 0; turn < idleTimes; turn++) {
    await untilNobodyLooks();
    idle.push(await sendOne());
  }
  const lingering: number[] = [];
  for (let turn = 0; turn < lingeringTimes; turn++) {
    await pause(50 + Math.random() * 200);
    lingering.push(await sendOne());
  }
  await server.shutdown();
  return { idle, lingering };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

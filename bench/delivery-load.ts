import { fileURLToPath } from "node:url";
import type postgres from "postgres";

const ENDPOINTS = 20;
const HANGING = 2;
const LOOK_EVERY_MS = 10;
const PATIENCE_MS = 60_000;

export type DeliveryLoad = {
  /**
   * Creates so many events for each endpoint in one statement, and returns the ms from their commit to the last recorded
   * outcome of a healthy endpoint: all twenty, or the eighteen beside the two that hang, or the same eighteen alone.
   */
  burst(eventsPerEndpoint: number, receivers: "all" | "two hang" | "without the two"): Promise<number>;
  close(): Promise<void>;
};

/** Twenty endpoints of a new user whose receiver, in a process of its own, answers at once. Events are made by SQL. */
export async function openDeliveryLoad(sql: postgres.Sql): Promise<DeliveryLoad> {
  const receiver = await startReceiverProcess();
  const [user] = await sql<{ id: string }[]>`
    insert into auth.users (id, email) values (gen_random_uuid(), gen_random_uuid() || '@keyframe.local') returning id`;
  if (!user) throw new Error("No user was made.");
  const endpoints = await sql<{ id: string }[]>`
    insert into public.webhook_endpoints (owner_id, url)
    select ${user.id}, ${receiver.url} || number from generate_series(1, ${ENDPOINTS}) number returning id`;
  const ids = endpoints.map(({ id }) => id);
  const [ill, well] = [ids.slice(0, HANGING), ids.slice(HANGING)];

  /** By the index of what is due, so that looking often costs the database little. */
  const isPending = async (ids: string[]) => {
    const found = await sql`
      select from public.webhook_deliveries d where d.status = 'pending' and d.endpoint_id in ${sql(ids)} limit 1`;
    return found.length > 0;
  };

  return {
    burst: async (eventsPerEndpoint, receivers) => {
      // What an earlier burst left with them must not be in the way of this one.
      await sql`delete from public.webhook_deliveries where status = 'pending' and endpoint_id in ${sql(ill)}`;
      await sql`
        update public.webhook_endpoints set enabled = ${receivers !== "without the two"},
          url = ${receiver.url} || ${receivers === "all" ? "well" : "hang"}
        where id in ${sql(ill)}`;
      await sql`
        insert into public.projects (owner_id, title, text_prompt)
        select ${user.id}, 'Burst ' || number, repeat('A harbour at dawn. ', 36) from generate_series(1, ${eventsPerEndpoint}::int) number`;
      const committed = performance.now();
      while (await isPending(receivers === "all" ? [...well, ...ill] : well)) {
        if (performance.now() - committed > PATIENCE_MS)
          throw new Error(`Deliveries are pending after ${PATIENCE_MS} ms.`);
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      }
      return performance.now() - committed;
    },
    close: receiver.close,
  };
}

async function startReceiverProcess(): Promise<{ url: string; close(): Promise<void> }> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-net=127.0.0.1", fileURLToPath(new URL("receiver-process.ts", import.meta.url))],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  const { port }: { port: number } = JSON.parse(value);
  return {
    url: `http://127.0.0.1:${port}/`,
    close: async () => {
      await reader.cancel();
      await child.stdin.close();
      await child.status;
    },
  };
}
